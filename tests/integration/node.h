// Node: one quorumd of a test: its directory, its port, its process.
//
//   Node node(NodeSettings{...});
//   ASSERT_EQ(node.Found(voters).exit_code, 0);
//   node.Start();
//   node.Kill();                    // kill -9
//   node.Start();                   // the same disk and port
//   EXPECT_EQ(node.Terminate(), 0); // SIGTERM, and the exit code
//
// Thread: the test's main thread (see process.h).

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/integration/process.h"

namespace quorum::integration {

// Path of a program that Bazel built for the test, e.g. "service/server/quorumd". Run by hand, the
// test finds it below $QUORUM_BIN.
std::string ProgramPath(const std::string& label);

// A port of 127.0.0.1 that nobody listens at, and that no outgoing connection takes meanwhile.
int PickPort();

struct NodeSettings {
  int32_t id = 1;
  std::string cluster_id = "test";
  // Not there yet.
  std::string data_dir;
  std::string log_path;
  // Given to `format` beside what the node knows itself.
  std::vector<std::string> format_flags;
  // Given to `serve` beside what the node knows itself.
  std::vector<std::string> flags;
  // Words before the program's own when it serves, such as /usr/bin/env and what that sets.
  std::vector<std::string> prefix;
};

class Node {
 public:
  // Picks a port and a directory id.
  explicit Node(NodeSettings settings);

  int32_t id() const { return settings_.id; }
  // `127.0.0.1:port`; the node's for the whole test.
  const std::string& address() const { return address_; }
  const std::string& directory_id() const { return directory_id_; }
  const std::string& data_dir() const { return settings_.data_dir; }
  const std::string& log_path() const { return settings_.log_path; }
  NodeSettings& settings() { return settings_; }

  // How --initial-voters names it.
  std::string Voter() const;

  // quorumd format, as a founder or as one that joins.
  ProgramResult Found(const std::string& initial_voters);
  ProgramResult Join();

  // Another verb of the daemon on the node's directory.
  ProgramResult Run(const std::vector<std::string>& words) const;

  // quorumd serve. The node is up when it answers; see Cluster.
  void Start();
  // What Start runs, for tests that run it with other flags.
  std::vector<std::string> ServeWords() const;
  bool running();
  // Its exit code; waits for its end.
  int AwaitExit();

  void Kill();
  int Terminate();
  // SIGSTOP, until it has stopped; and SIGCONT.
  void Pause();
  void Resume();

 private:
  ProgramResult Format(const std::vector<std::string>& how);

  NodeSettings settings_;
  std::string address_;
  std::string directory_id_;
  std::unique_ptr<Process> process_;
};

}  // namespace quorum::integration

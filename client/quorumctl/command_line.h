// The command line of quorumctl as values: what each verb was asked to do, checked as far as that
// goes without a cluster.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "client/partition_name.h"
#include "client/quorumctl/exit_code.h"
#include "client/tail_spec.h"
#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::client::quorumctl {

// A topic, or one partition of it.
struct Target {
  std::string topic;
  std::optional<uint32_t> partition;

  std::string ToString() const;
};

struct TopicCreate {
  std::string name;
  std::optional<uint32_t> partitions;
  std::optional<uint32_t> replicas;
};

struct TopicDelete {
  std::string name;
  std::optional<uint64_t> topic_id;
};

struct TopicList {
  bool internal = false;
};

struct TopicDescribe {
  std::string name;
};

struct Append {
  PartitionName partition;
  std::optional<std::string> key;
  // Empty: a record a line, from standard input.
  std::vector<std::string> values;
  // One record with the key and without a value.
  bool tombstone = false;
  // Lines of standard input that make one batch, at most.
  uint32_t batch = 1;
  // The producer's name; empty: none.
  std::string producer;
  // Append only if no record lies at or above it.
  std::optional<Offset> expected_offset;
};

struct Tail {
  PartitionName partition;
  TailStart from = TailFromEarliest{};
  std::optional<int64_t> max_records;
  bool until_end = false;
  bool print_epoch = false;
};

struct Offsets {
  Target target;
};

struct QuorumDescribe {
  Target target;
  bool stale_ok = false;
};

struct ClusterDescribe {};

struct Elect {
  PartitionName partition;
  // Empty: the first replica of the assignment.
  std::optional<NodeId> node;
};

struct Status {
  // Empty: all topics, those of the system too.
  std::optional<std::string> topic;
  // Show it again and again, this long after the last time.
  std::optional<Duration> watch;
};

struct Completion {
  // What the shell is to read.
  std::string script;
};

using Command = std::variant<TopicCreate, TopicDelete, TopicList, TopicDescribe, Append, Tail,
                             Offsets, QuorumDescribe, ClusterDescribe, Elect, Status, Completion>;

struct CommandLine {
  std::vector<std::string> bootstrap;
  Duration timeout = std::chrono::seconds(30);
  bool json = false;
  Command command;
};

// Reads the words after the program's name. Help and version are written to `out`, mistakes to
// `err`; then the exit code says which.
std::variant<CommandLine, ExitCode> ParseCommandLine(const std::vector<std::string>& words,
                                                     std::ostream& out, std::ostream& err);

// Reads "30s", "500ms", "1m30s", or a plain number of seconds; empty unless within [1 ms, 24 h].
std::optional<Duration> ParseTimeout(const std::string& text);

}  // namespace quorum::client::quorumctl

#include "tests/integration/node.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "service/base/check.h"

namespace quorum::integration {
namespace {

constexpr char kQuorumd[] = "service/server/quorumd";

// Below the range that the kernel takes ports of outgoing connections from.
constexpr int kFirstPort = 17'000;
constexpr int kPortCount = 14'000;

bool CanBind(int port) {
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  PCHECK(file >= 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(file);
  return bound;
}

std::string NextDirectoryId() {
  static int count = 0;
  return absl::StrFormat("%08x-0000-4000-8000-%012x", getpid(), ++count);
}

}  // namespace

std::string ProgramPath(const std::string& label) {
  const char* by_hand = getenv("QUORUM_BIN");
  if (by_hand != nullptr) return absl::StrCat(by_hand, "/", label);
  const char* sources = getenv("TEST_SRCDIR");
  const char* workspace = getenv("TEST_WORKSPACE");
  CHECK(sources != nullptr && workspace != nullptr) << "set QUORUM_BIN to bazel-bin";
  return absl::StrCat(sources, "/", workspace, "/", label);
}

int PickPort() {
  // Two tests that are run by hand at once begin at different places.
  static int next = getpid() % 500 * 28;
  for (int tries = 0; tries < kPortCount; ++tries) {
    const int port = kFirstPort + next++ % kPortCount;
    if (CanBind(port)) return port;
  }
  LOG(FATAL) << "no port is free";
}

Node::Node(NodeSettings settings)
    : settings_(std::move(settings)),
      address_(absl::StrCat("127.0.0.1:", PickPort())),
      directory_id_(NextDirectoryId()) {}

std::string Node::Voter() const {
  return absl::StrCat(settings_.id, "@", address_, ":", directory_id_);
}

ProgramResult Node::Found(const std::string& initial_voters) {
  return Format({"--directory-id=" + directory_id_, "--initial-voters=" + initial_voters});
}

ProgramResult Node::Join() { return Format({"--directory-id=" + directory_id_, "--join"}); }

ProgramResult Node::Format(const std::vector<std::string>& how) {
  std::vector<std::string> words = {"format", absl::StrCat("--node-id=", settings_.id),
                                    "--cluster-id=" + settings_.cluster_id};
  words.insert(words.end(), how.begin(), how.end());
  words.insert(words.end(), settings_.format_flags.begin(), settings_.format_flags.end());
  return Run(words);
}

ProgramResult Node::Run(const std::vector<std::string>& words) const {
  std::vector<std::string> all = {ProgramPath(kQuorumd)};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back("--data-dir=" + settings_.data_dir);
  return RunProgram(all);
}

std::vector<std::string> Node::ServeWords() const {
  std::vector<std::string> words = settings_.prefix;
  words.insert(words.end(),
               {ProgramPath(kQuorumd), "serve", "--data-dir=" + settings_.data_dir,
                "--cluster-id=" + settings_.cluster_id, absl::StrCat("--node-id=", settings_.id),
                "--listen-address=" + address_});
  words.insert(words.end(), settings_.flags.begin(), settings_.flags.end());
  return words;
}

void Node::Start() {
  CHECK(!running()) << "node " << id() << " runs already";
  process_ = std::make_unique<Process>(ServeWords(), settings_.log_path);
}

bool Node::running() { return process_ != nullptr && !process_->exit_code().has_value(); }

int Node::AwaitExit() {
  CHECK(process_ != nullptr) << "node " << id() << " was never started";
  int code = -1;
  EXPECT_TRUE(process_->AwaitExit(&code)) << "node " << id();
  return code;
}

void Node::Kill() {
  process_->Signal(SIGKILL);
  AwaitExit();
}

int Node::Terminate() {
  process_->Signal(SIGTERM);
  return AwaitExit();
}

void Node::Pause() { EXPECT_TRUE(process_->Pause()); }
void Node::Resume() { process_->Signal(SIGCONT); }

}  // namespace quorum::integration

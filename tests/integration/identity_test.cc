// Wiped disks: a node that lost its directory is another replica, or is stopped; never the old one
// with a bad memory.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "service/base/mutex.h"
#include "tests/integration/cluster.h"
#include "tests/integration/workload.h"

namespace quorum::integration {
namespace {

using testing::HasSubstr;

constexpr char kTopic[] = "orders";

class IdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    ASSERT_TRUE(cluster_.CreateTopic(kTopic, 2, 3));
  }

  void Wipe(int32_t id) {
    cluster_.node(id).Kill();
    std::filesystem::remove_all(cluster_.node(id).data_dir());
  }

  // The one mistake.
  void FoundAgain(int32_t id) {
    Wipe(id);
    std::vector<std::string> voters;
    for (const int32_t voter : cluster_.ids()) voters.push_back(cluster_.node(voter).Voter());
    ASSERT_EQ(cluster_.node(id).Found(absl::StrJoin(voters, ",")).exit_code, 0);
    cluster_.node(id).Start();
  }

  Cluster cluster_{ClusterOptions()};
};

// Listens to a node's readiness from its start on, and remembers whether it was ever ready.
class ReadinessWatch : public grpc::ClientReadReactor<grpc::health::v1::HealthCheckResponse> {
 public:
  explicit ReadinessWatch(const std::string& address) : stubs_(address) {
    context_.set_wait_for_ready(true);
    request_.set_service("readiness");
    stubs_.health->async()->Watch(&context_, &request_, this);
    StartRead(&response_);
    StartCall();
  }
  ~ReadinessWatch() override {
    context_.TryCancel();
    MutexLock lock(&mutex_);
    while (!done_) (void)done_changed_.WaitFor(&mutex_, std::chrono::seconds(1));
  }

  // How many answers there were so far.
  int answers() const { return answers_; }
  bool was_ready() const { return was_ready_; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (response_.status() == grpc::health::v1::HealthCheckResponse::SERVING) was_ready_ = true;
    ++answers_;
    StartRead(&response_);
  }
  void OnDone(const grpc::Status&) override {
    MutexLock lock(&mutex_);
    done_ = true;
    done_changed_.NotifyAll();
  }

  const Stubs stubs_;
  grpc::ClientContext context_;
  grpc::health::v1::HealthCheckRequest request_;
  grpc::health::v1::HealthCheckResponse response_;
  std::atomic<int> answers_{0};
  std::atomic<bool> was_ready_{false};
  Mutex mutex_;
  CondVar done_changed_;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

// The one thing that an administrator must never do: found a disk again under its old identity. It
// would have forgotten its votes.
TEST_F(IdentityTest, DirectoryFoundedAgainIsFenced) {
  Leadership catalog;
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &catalog));
  const int32_t victim = catalog.leader % 3 + 1;
  FoundAgain(victim);
  EXPECT_EQ(cluster_.node(victim).AwaitExit(), 3);
  EXPECT_THAT(ReadFile(cluster_.node(victim).log_path()), HasSubstr("FATAL reason=FENCED"));
}

// One that led the catalog is named as leader of an epoch that it knows nothing of. Its replica is
// quarantined before it could vote, and the node is never ready.
TEST_F(IdentityTest, LeaderFoundedAgainTakesNoPart) {
  Leadership before;
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &before));
  FoundAgain(before.leader);
  ReadinessWatch watch(cluster_.node(before.leader).address());
  ASSERT_TRUE(Await("its replica is quarantined", [&]() -> std::string {
    const std::string log = ReadFile(cluster_.node(before.leader).log_path());
    const bool found = log.find("[p=__metadata:0] quarantined") != std::string::npos ||
                       log.find("FATAL reason=FENCED") != std::string::npos;
    return found ? "" : "it is not";
  }));
  Leadership after;
  const int32_t other = before.leader % 3 + 1;
  ASSERT_TRUE(Await("the others elect", [&]() -> std::string {
    v1::AppendResponse response;
    const grpc::Status status = Call(*cluster_.stubs(other).log, &v1::LogService::Stub::Append,
                                     AppendOf(kTopic, 0, {"x"}), &response);
    return status.ok() ? "" : status.error_message();
  }));
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &after, before.epoch));
  EXPECT_NE(after.leader, before.leader);
  // The others serve, and it does not: neither now nor for a moment before.
  for (const int32_t id : {other, other % 3 + 1}) {
    if (id != before.leader) ASSERT_TRUE(cluster_.AwaitServing(id));
  }
  ASSERT_TRUE(Await("somebody has answered for its readiness, or it has ended", [&] {
    const bool ended = !cluster_.node(before.leader).running();
    return ended || watch.answers() > 0 ? "" : "not yet";
  }));
  EXPECT_FALSE(watch.was_ready());
  const ReadinessWatch sound(cluster_.node(other).address());
  EXPECT_TRUE(Await("a sound one is ready", [&] { return sound.was_ready() ? "" : "not yet"; }));
}

// Two processes of one identity. A copy that was started as often as the original is refused; one
// that was started more often is the node from then on, and the original is told to end, by
// whichever node it asks for anything.
TEST_F(IdentityTest, OlderProcessOfACopiedDirectoryIsFenced) {
  Leadership catalog;
  ASSERT_TRUE(cluster_.AwaitLeader("__metadata", 0, &catalog));
  Node& original = cluster_.node(catalog.leader % 3 + 1);
  original.Kill();
  NodeSettings settings = original.settings();
  settings.data_dir += "-copy";
  settings.log_path += "-copy";
  std::filesystem::copy(original.data_dir(), settings.data_dir,
                        std::filesystem::copy_options::recursive);
  ASSERT_TRUE(cluster_.Start());
  Node copy(settings);
  copy.Start();
  ASSERT_EQ(copy.AwaitExit(), 3);
  EXPECT_THAT(ReadFile(copy.log_path()), HasSubstr("FATAL reason=FENCED"));
  EXPECT_TRUE(original.running());
  // Its second start has an incarnation that the original does not have.
  copy.Start();
  ASSERT_EQ(original.AwaitExit(), 3);
  EXPECT_THAT(ReadFile(original.log_path()), HasSubstr("FATAL reason=FENCED"));
  EXPECT_TRUE(copy.running());
  const Stubs stubs(copy.address());
  EXPECT_TRUE(Await("the copy serves", [&]() -> std::string {
    v1::AppendResponse response;
    const grpc::Status status =
        Call(*stubs.log, &v1::LogService::Stub::Append, AppendOf(kTopic, 0, {"x"}), &response);
    return status.ok() ? "" : status.error_message();
  }));
  copy.Kill();
}

// The right way: a new directory id joins. It is no voter of what the old one voted for, and it
// holds nobody up.
TEST_F(IdentityTest, WipedNodeThatJoinsIsAnotherReplica) {
  WorkloadOptions options;
  options.topic = kTopic;
  options.partitions = 2;
  Workload workload(&cluster_, options);
  ASSERT_TRUE(workload.AwaitAcks(10));
  const std::string old_directory = cluster_.node(3).directory_id();
  Wipe(3);
  const std::string new_directory = "00000000-0000-4000-8000-0000000000ff";
  const ProgramResult joined = cluster_.node(3).Run(
      {"format", "--node-id=3", "--cluster-id=test", "--join", "--directory-id=" + new_directory});
  ASSERT_EQ(joined.exit_code, 0) << joined.error;
  cluster_.node(3).settings().flags.push_back(
      absl::StrCat("--bootstrap=", cluster_.node(1).address(), ",", cluster_.node(2).address()));
  ASSERT_TRUE(cluster_.Start());
  ASSERT_TRUE(workload.AwaitAcks(10));
  PartitionQuorum quorum;
  ASSERT_TRUE(cluster_.AwaitQuorum("__metadata", 0, &quorum));
  for (const auto& voter : quorum.current_voters()) {
    EXPECT_NE(voter.directory_id(), new_directory) << "a wiped disk votes";
  }
  ASSERT_TRUE(cluster_.AwaitQuorum(kTopic, 0, &quorum));
  bool old_voter_is_remembered = false;
  for (const auto& voter : quorum.current_voters()) {
    EXPECT_NE(voter.directory_id(), new_directory) << "a wiped disk votes";
    old_voter_is_remembered |= voter.directory_id() == old_directory;
  }
  EXPECT_TRUE(old_voter_is_remembered);
  // It serves clients all the same.
  v1::AppendResponse response;
  const grpc::Status status = Call(*cluster_.stubs(3).log, &v1::LogService::Stub::Append,
                                   AppendOf(kTopic, 0, {"through the new one"}), &response);
  EXPECT_TRUE(status.ok()) << FailureOf(status);
}

}  // namespace
}  // namespace quorum::integration

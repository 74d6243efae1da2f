// Bad input of peers. One real node leads the catalog because a puppet voted for it; then the
// puppet says what no node would say. Nothing of it may move the epoch, the role or the process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "tests/integration/bad_call.h"
#include "tests/integration/puppet.h"

namespace quorum::integration {
namespace {

using Voter = v1::VoterService::Stub;
using Observer = v1::ObserverService::Stub;

constexpr int64_t kEpochJump = int64_t{1} << 32;

// What the real node says of its replica of the catalog.
struct Standing {
  int64_t epoch = 0;
  int32_t leader = 0;
  int64_t high_watermark = -1;
};

bool operator==(const Standing& a, const Standing& b) {
  return a.epoch == b.epoch && a.leader == b.leader && a.high_watermark == b.high_watermark;
}
std::ostream& operator<<(std::ostream& out, const Standing& standing) {
  return out << "epoch " << standing.epoch << " leader " << standing.leader << " watermark "
             << standing.high_watermark;
}

// Node 1 of three; the test plays node 2, node 3 is dead.
class Stage {
 public:
  Stage() : folder_(MakeScratchFolder("stage")) {
    for (int32_t id = 1; id <= 3; ++id) {
      NodeSettings settings;
      settings.id = id;
      settings.data_dir = absl::StrCat(folder_, "/data", id);
      settings.log_path = absl::StrCat(folder_, "/log", id);
      // One lane, so that the test need not know which lane a partition is in. Nobody fetches, so
      // the leader must not miss it.
      settings.format_flags = {"--lanes=1"};
      settings.flags = {"--election-timeout-ms=100", "--fetch-timeout-ms=600000",
                        "--disk-stuck-exit-after-ms=1200000"};
      nodes_.push_back(std::make_unique<Node>(settings));
    }
    const ProgramResult founded = node().Found(
        absl::StrCat(nodes_[0]->Voter(), ",", nodes_[1]->Voter(), ",", nodes_[2]->Voter()));
    CHECK_EQ(founded.exit_code, 0) << founded.error;
    puppet_ = std::make_unique<Puppet>(*nodes_[1]);
    stubs_ = std::make_unique<Stubs>(node().address());
    node().Start();
  }
  ~Stage() {
    if (testing::UnitTest::GetInstance()->current_test_suite()->Failed()) {
      std::cerr << "--- the end of node 1's log:\n"
                << LastLines(node().log_path(), 40) << std::endl;
    }
    if (node().running()) node().Kill();
    std::filesystem::remove_all(folder_);
  }

  Node& node() { return *nodes_[0]; }
  const Puppet& puppet() const { return *puppet_; }
  const Stubs& stubs() const { return *stubs_; }
  v1::Envelope Envelope() { return puppet_->EnvelopeTo(node()); }

  std::string Look(Standing* standing) const {
    v1::DescribeQuorumRequest request;
    request.set_stale_ok(true);
    request.add_topics()->set_topic("__metadata");
    v1::DescribeQuorumResponse response;
    const grpc::Status status =
        Call(*stubs_->admin, &v1::AdminService::Stub::DescribeQuorum, request, &response);
    if (!status.ok()) return status.error_message();
    if (response.topics(0).partitions_size() != 1) return response.ShortDebugString();
    const PartitionQuorum& quorum = response.topics(0).partitions(0);
    *standing = Standing{quorum.leader_epoch(), quorum.leader_id(),
                         quorum.has_high_watermark() ? quorum.high_watermark() : -1};
    return "";
  }

  testing::AssertionResult AwaitLeading(Standing* standing, int64_t after_epoch = 0) const {
    return Await(absl::StrCat("node 1 leads above epoch ", after_epoch), [&]() -> std::string {
      const std::string missing = Look(standing);
      if (!missing.empty()) return missing;
      const bool leads = standing->leader == 1 && standing->epoch > after_epoch;
      return leads ? "" : testing::PrintToString(*standing);
    });
  }

 private:
  std::string folder_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<Puppet> puppet_;
  std::unique_ptr<Stubs> stubs_;
};

class PeerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    holder() = std::make_unique<Stage>();
    Standing standing;
    ASSERT_TRUE(stage().AwaitLeading(&standing));
    EXPECT_GT(stage().puppet().votes(), 0);
  }
  static void TearDownTestSuite() { holder().reset(); }
  static Stage& stage() { return *holder(); }

 private:
  static std::unique_ptr<Stage>& holder() {
    static std::unique_ptr<Stage> stage;
    return stage;
  }
};

// --- Tables ---

// The answer in one word: the reason of a failed call, or the error code of the first entry.
struct PeerCall {
  std::string name;
  std::function<std::string(Stage&, int64_t epoch)> call;
  std::string answer;
};

std::ostream& operator<<(std::ostream& out, const PeerCall& c) { return out << c.name; }

class PeerCallTest : public PeerTest, public testing::WithParamInterface<PeerCall> {};

TEST_P(PeerCallTest, IsAnsweredAndChangesNothing) {
  Standing before;
  ASSERT_TRUE(stage().AwaitLeading(&before));
  EXPECT_EQ(GetParam().call(stage(), before.epoch), GetParam().answer);
  ASSERT_TRUE(stage().node().running());
  Standing after;
  ASSERT_EQ(stage().Look(&after), "");
  EXPECT_EQ(after, before);
}

std::string NameOf(v1::ErrorCode code) {
  return v1::ErrorCode_Name(code).substr(sizeof("ERROR_CODE_") - 1);
}

template <typename Response>
std::string Word(const grpc::Status& status, const Response& response) {
  if (!status.ok()) return testing::PrintToString(FailureOf(status).reason);
  if (response.topics_size() == 0) return "no entry";
  return NameOf(response.topics(0).partitions(0).error());
}

// An entry for the catalog.
template <typename Request>
auto* CatalogEntry(Request* request) {
  auto* topic = request->add_topics();
  topic->set_topic_id(1);
  auto* entry = topic->add_partitions();
  entry->set_partition(0);
  return entry;
}

using VoteChange = std::function<void(v1::VoteRequest&, v1::VoteRequest::Partition&, int64_t)>;

// A vote that is right but for `change`: the puppet asks with an empty log in the present epoch.
PeerCall OfVote(const std::string& name, const VoteChange& change, const std::string& answer) {
  const auto call = [change](Stage& stage, int64_t epoch) {
    v1::VoteRequest request;
    *request.mutable_envelope() = stage.Envelope();
    v1::VoteRequest::Partition* entry = CatalogEntry(&request);
    entry->set_replica_epoch(epoch);
    change(request, *entry, epoch);
    v1::VoteResponse response;
    const std::string word =
        Word(Call(*stage.stubs().voter, &Voter::Vote, request, &response), response);
    for (const auto& topic : response.topics()) {
      for (const auto& partition : topic.partitions()) EXPECT_FALSE(partition.vote_granted());
    }
    return word;
  };
  return PeerCall{absl::StrCat("Vote: ", name), call, answer};
}

std::vector<PeerCall> Envelopes() {
  const auto with = [](const std::string& name, const std::function<void(v1::Envelope&)>& change,
                       const std::string& answer) {
    return OfVote(
        name, [change](auto& r, auto&, int64_t) { change(*r.mutable_envelope()); }, answer);
  };
  const std::string invalid = "\"INVALID_REQUEST\"";
  const std::string other = "\"INCONSISTENT_CLUSTER_ID\"";
  return {
      with(
          "no envelope", [](auto& e) { e.Clear(); }, other),
      with(
          "another cluster id", [](auto& e) { e.set_cluster_id("other"); }, other),
      with(
          "no cluster id", [](auto& e) { e.clear_cluster_id(); }, other),
      with(
          "no sender", [](auto& e) { e.clear_from(); }, invalid),
      with(
          "sender 0", [](auto& e) { e.mutable_from()->set_node_id(0); }, invalid),
      with(
          "sender -1", [](auto& e) { e.mutable_from()->set_node_id(-1); }, invalid),
      with(
          "sender's directory id of 15 bytes",
          [](auto& e) { e.mutable_from()->set_directory_id(std::string(15, 'd')); }, invalid),
      with(
          "sender's directory id zero",
          [](auto& e) { e.mutable_from()->set_directory_id(std::string(16, '\0')); }, invalid),
      with(
          "sender without incarnation", [](auto& e) { e.mutable_from()->clear_incarnation(); },
          invalid),
      with(
          "lane 1 of 1", [](auto& e) { e.set_lane(1); }, invalid),
      with(
          "lane 2^32 - 1", [](auto& e) { e.set_lane(UINT32_MAX); }, invalid),
      with(
          "another receiver's directory",
          [](auto& e) { e.mutable_to()->set_directory_id(std::string(16, 'x')); },
          "INVALID_VOTER_KEY"),
      with(
          "another receiver's node", [](auto& e) { e.mutable_to()->set_node_id(3); },
          "INVALID_VOTER_KEY"),
  };
}

std::vector<PeerCall> Votes() {
  const auto epoch_of = [](const std::string& name, const std::function<int64_t(int64_t)>& epoch,
                           const std::string& answer) {
    return OfVote(
        name, [epoch](auto&, auto& p, int64_t mine) { p.set_replica_epoch(epoch(mine)); }, answer);
  };
  const std::string invalid = "INVALID_REQUEST";
  return {
      epoch_of(
          "epoch 0", [](int64_t) { return 0; }, invalid),
      epoch_of(
          "epoch -1", [](int64_t) { return -1; }, invalid),
      epoch_of(
          "epoch -2^63", [](int64_t) { return kLowest; }, invalid),
      epoch_of(
          "epoch 2^62", [](int64_t) { return kLimit; }, invalid),
      epoch_of(
          "epoch 2^63 - 1", [](int64_t) { return kHighest; }, invalid),
      epoch_of(
          "epoch 2^62 - 1", [](int64_t) { return kLimit - 1; }, invalid),
      epoch_of(
          "epoch mine + 2^32 + 1", [](int64_t mine) { return mine + kEpochJump + 1; }, invalid),
      OfVote(
          "pre-vote, epoch -1",
          [](auto&, auto& p, int64_t) {
            p.set_pre_vote(true);
            p.set_replica_epoch(-1);
          },
          invalid),
      OfVote(
          "pre-vote, epoch mine + 2^32 + 1",
          [](auto&, auto& p, int64_t mine) {
            p.set_pre_vote(true);
            p.set_replica_epoch(mine + kEpochJump + 1);
          },
          invalid),
      OfVote(
          "log end -1", [](auto&, auto& p, int64_t) { p.set_last_offset(-1); }, invalid),
      OfVote(
          "log end 2^62", [](auto&, auto& p, int64_t) { p.set_last_offset(kLimit); }, invalid),
      OfVote(
          "log end 2^63 - 1", [](auto&, auto& p, int64_t) { p.set_last_offset(kHighest); },
          invalid),
      OfVote(
          "last epoch as the vote's",
          [](auto&, auto& p, int64_t mine) { p.set_last_offset_epoch(mine); }, invalid),
      OfVote(
          "last epoch -1", [](auto&, auto& p, int64_t) { p.set_last_offset_epoch(-1); }, invalid),
      OfVote(
          "present epoch, empty log", [](auto&, auto&, int64_t) {}, "NONE"),
      OfVote(
          "no partition", [](auto&, auto& p, int64_t) { p.clear_partition(); },
          "\"INVALID_REQUEST\""),
      OfVote(
          "topic id 0", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(0); },
          "\"INVALID_REQUEST\""),
      OfVote(
          "unknown topic", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(99); },
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfVote(
          "unknown partition", [](auto&, auto& p, int64_t) { p.set_partition(UINT32_MAX); },
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfVote(
          "a partition twice",
          [](auto& r, auto&, int64_t) { *r.add_topics() = v1::VoteRequest::Topic(r.topics(0)); },
          invalid),
  };
}

INSTANTIATE_TEST_SUITE_P(Envelopes, PeerCallTest, testing::ValuesIn(Envelopes()));
INSTANTIATE_TEST_SUITE_P(Votes, PeerCallTest, testing::ValuesIn(Votes()));

// BeginQuorumEpoch and EndQuorumEpoch of an epoch.
template <typename Request, typename Response>
PeerCall OfEpoch(const std::string& name,
                 grpc::Status (Voter::*method)(grpc::ClientContext*, const Request&, Response*),
                 const std::function<int64_t(int64_t)>& epoch, const std::string& answer) {
  const auto call = [method, epoch](Stage& stage, int64_t mine) {
    Request request;
    *request.mutable_envelope() = stage.Envelope();
    CatalogEntry(&request)->set_leader_epoch(epoch(mine));
    Response response;
    return Word(Call(*stage.stubs().voter, method, request, &response), response);
  };
  return PeerCall{name, call, answer};
}

std::vector<PeerCall> Epochs() {
  struct Case {
    const char* name;
    std::function<int64_t(int64_t)> epoch;
    const char* answer;
  };
  const std::vector<Case> cases = {
      {"epoch 0", [](int64_t) { return 0; }, "INVALID_REQUEST"},
      {"epoch -1", [](int64_t) { return -1; }, "INVALID_REQUEST"},
      {"epoch 2^62", [](int64_t) { return kLimit; }, "INVALID_REQUEST"},
      {"epoch 2^63 - 1", [](int64_t) { return kHighest; }, "INVALID_REQUEST"},
      {"epoch mine + 2^32 + 1", [](int64_t mine) { return mine + kEpochJump + 1; },
       "INVALID_REQUEST"},
  };
  std::vector<PeerCall> calls;
  for (const Case& c : cases) {
    calls.push_back(OfEpoch(absl::StrCat("BeginQuorumEpoch: ", c.name), &Voter::BeginQuorumEpoch,
                            c.epoch, c.answer));
    calls.push_back(OfEpoch(absl::StrCat("EndQuorumEpoch: ", c.name), &Voter::EndQuorumEpoch,
                            c.epoch, c.answer));
  }
  return calls;
}

INSTANTIATE_TEST_SUITE_P(Epochs, PeerCallTest, testing::ValuesIn(Epochs()));

// --- Fetch ---

using FetchChange = std::function<void(v1::FetchRequest&, v1::FetchRequest::Partition&, int64_t)>;

PeerCall OfFetch(const std::string& name, const FetchChange& change, const std::string& answer) {
  const auto call = [change](Stage& stage, int64_t epoch) {
    v1::FetchRequest request;
    *request.mutable_envelope() = stage.Envelope();
    request.set_max_bytes(1 << 20);
    v1::FetchRequest::Partition* entry = CatalogEntry(&request);
    entry->set_current_leader_epoch(epoch);
    change(request, *entry, epoch);
    v1::FetchResponse response;
    const grpc::Status status = Call(*stage.stubs().observer, &Observer::Fetch, request, &response);
    if (status.ok() && response.session().error() != v1::ERROR_CODE_NONE) {
      return absl::StrCat("session ", NameOf(response.session().error()));
    }
    return Word(status, response);
  };
  return PeerCall{absl::StrCat("Fetch: ", name), call, answer};
}

std::vector<PeerCall> Fetches() {
  const auto offset_of = [](const std::string& name, int64_t offset, const std::string& answer) {
    return OfFetch(
        name, [offset](auto&, auto& p, int64_t) { p.set_fetch_offset(offset); }, answer);
  };
  const auto epoch_of = [](const std::string& name, const std::function<int64_t(int64_t)>& epoch,
                           const std::string& answer) {
    return OfFetch(
        name, [epoch](auto&, auto& p, int64_t mine) { p.set_current_leader_epoch(epoch(mine)); },
        answer);
  };
  const std::string invalid = "INVALID_REQUEST";
  const std::string whole = "\"INVALID_REQUEST\"";
  return {
      offset_of("offset -1", -1, invalid),
      offset_of("offset -2^63", kLowest, invalid),
      offset_of("offset 2^62", kLimit, invalid),
      offset_of("offset 2^63 - 1", kHighest, invalid),
      epoch_of(
          "epoch -1", [](int64_t) { return -1; }, invalid),
      epoch_of(
          "epoch 2^62", [](int64_t) { return kLimit; }, invalid),
      epoch_of(
          "epoch mine + 2^32 + 1", [](int64_t mine) { return mine + kEpochJump + 1; }, invalid),
      epoch_of(
          "epoch mine - 1", [](int64_t mine) { return mine - 1; }, "FENCED_LEADER_EPOCH"),
      epoch_of(
          "epoch mine + 1", [](int64_t mine) { return mine + 1; }, "UNKNOWN_LEADER_EPOCH"),
      OfFetch(
          "last epoch above the sender's",
          [](auto&, auto& p, int64_t mine) {
            p.set_fetch_offset(1);
            p.set_last_fetched_epoch(mine + 1);
          },
          invalid),
      OfFetch(
          "last epoch -1", [](auto&, auto& p, int64_t) { p.set_last_fetched_epoch(-1); }, invalid),
      OfFetch(
          "high watermark -1", [](auto&, auto& p, int64_t) { p.set_high_watermark(-1); }, invalid),
      OfFetch(
          "high watermark 2^62", [](auto&, auto& p, int64_t) { p.set_high_watermark(kLimit); },
          invalid),
      OfFetch(
          "max wait -1", [](auto& r, auto&, int64_t) { r.set_max_wait_ms(-1); }, whole),
      OfFetch(
          "max wait -2^31", [](auto& r, auto&, int64_t) { r.set_max_wait_ms(INT32_MIN); }, whole),
      OfFetch(
          "max bytes -1", [](auto& r, auto&, int64_t) { r.set_max_bytes(-1); }, whole),
      OfFetch(
          "max bytes 2^31 - 1", [](auto& r, auto&, int64_t) { r.set_max_bytes(INT32_MAX); },
          "NONE"),
      OfFetch(
          "max bytes 0", [](auto& r, auto&, int64_t) { r.set_max_bytes(0); }, "NONE"),
      OfFetch(
          "unknown topic", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(99); },
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfFetch(
          "a partition twice",
          [](auto& r, auto&, int64_t) { *r.add_topics() = v1::FetchRequest::Topic(r.topics(0)); },
          invalid),
  };
}

std::vector<PeerCall> Sessions() {
  const auto with = [](const std::string& name,
                       const std::function<void(v1::FetchRequest::Session&)>& change,
                       const std::string& answer) {
    return OfFetch(
        name,
        [change](auto& r, auto&, int64_t) {
          v1::FetchRequest::Session* session = r.mutable_session();
          session->set_session_id(1);
          session->set_request_number(1);
          session->set_lane_count(1);
          change(*session);
        },
        answer);
  };
  return {
      with(
          "session 0", [](auto& s) { s.set_session_id(0); }, "session INVALID_REQUEST"),
      with(
          "request 0 of a session", [](auto& s) { s.set_request_number(0); },
          "session FETCH_SESSION_ID_NOT_FOUND"),
      with(
          "request 7 of a session that never began", [](auto& s) { s.set_request_number(7); },
          "session FETCH_SESSION_ID_NOT_FOUND"),
      with(
          "another lane count", [](auto& s) { s.set_lane_count(16); },
          "session INCONSISTENT_LANE_COUNT"),
  };
}

INSTANTIATE_TEST_SUITE_P(Fetches, PeerCallTest, testing::ValuesIn(Fetches()));
INSTANTIATE_TEST_SUITE_P(Sessions, PeerCallTest, testing::ValuesIn(Sessions()));

// --- What does change something ---

TEST_F(PeerTest, ClaimBeyondTheLogIsAnsweredWithTheEndOfTheLog) {
  Standing standing;
  ASSERT_TRUE(stage().AwaitLeading(&standing));
  v1::FetchRequest request;
  request.set_max_bytes(1 << 20);
  v1::FetchRequest::Partition* entry = CatalogEntry(&request);
  entry->set_current_leader_epoch(standing.epoch);
  entry->set_last_fetched_epoch(standing.epoch);
  entry->set_fetch_offset(kLimit - 1);
  v1::FetchResponse response;
  const grpc::Status status = Call(*stage().stubs().observer, &Observer::Fetch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  const auto& answer = response.topics(0).partitions(0);
  ASSERT_TRUE(answer.has_diverging_epoch()) << answer.ShortDebugString();
  EXPECT_EQ(answer.diverging_epoch().epoch(), standing.epoch);
  EXPECT_GT(answer.diverging_epoch().end_offset(), 0);
  EXPECT_EQ(answer.records_size(), 0);
}

TEST_F(PeerTest, LongestWaitIsCapped) {
  Standing standing;
  ASSERT_TRUE(stage().AwaitLeading(&standing));
  v1::FetchRequest request;
  request.set_max_bytes(1 << 20);
  request.set_max_wait_ms(INT32_MAX);
  v1::FetchRequest::Partition* entry = CatalogEntry(&request);
  entry->set_current_leader_epoch(standing.epoch);
  entry->set_last_fetched_epoch(standing.epoch);
  // The end of the log, as the leader tells it: nothing to say.
  entry->set_fetch_offset(kLimit - 1);
  v1::FetchResponse diverging;
  ASSERT_TRUE(Call(*stage().stubs().observer, &Observer::Fetch, request, &diverging).ok());
  entry->set_fetch_offset(diverging.topics(0).partitions(0).diverging_epoch().end_offset());
  v1::FetchResponse response;
  const grpc::Status status = Call(*stage().stubs().observer, &Observer::Fetch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  EXPECT_EQ(response.topics(0).partitions(0).error(), v1::ERROR_CODE_NONE);
}

// The largest jump that is taken: the node adopts the epoch, and the cluster still elects.
TEST_F(PeerTest, EpochOfMinePlus2To32IsAdopted) {
  Standing before;
  ASSERT_TRUE(stage().AwaitLeading(&before));
  v1::VoteRequest request;
  *request.mutable_envelope() = stage().Envelope();
  v1::VoteRequest::Partition* entry = CatalogEntry(&request);
  entry->set_replica_epoch(before.epoch + kEpochJump);
  v1::VoteResponse response;
  const grpc::Status status = Call(*stage().stubs().voter, &Voter::Vote, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  EXPECT_EQ(response.topics(0).partitions(0).error(), v1::ERROR_CODE_NONE);
  // An empty log loses against one with records.
  EXPECT_FALSE(response.topics(0).partitions(0).vote_granted());
  EXPECT_EQ(response.topics(0).partitions(0).leader_epoch(), before.epoch + kEpochJump);
  Standing after;
  EXPECT_TRUE(stage().AwaitLeading(&after, before.epoch + kEpochJump));
}

// Two leaders of one epoch cannot be: one of the replicas has forgotten something. The replica
// takes no further part, says so, and the process goes on. A start finds the disk in order.
TEST(ContradictionTest, QuarantinesTheReplicaAndNothingElse) {
  Stage stage;
  Standing standing;
  ASSERT_TRUE(stage.AwaitLeading(&standing));
  v1::BeginQuorumEpochRequest request;
  *request.mutable_envelope() = stage.Envelope();
  CatalogEntry(&request)->set_leader_epoch(standing.epoch);
  v1::BeginQuorumEpochResponse response;
  EXPECT_EQ(
      Word(Call(*stage.stubs().voter, &Voter::BeginQuorumEpoch, request, &response), response),
      "BROKER_NOT_AVAILABLE");
  ASSERT_TRUE(stage.node().running());
  EXPECT_THAT(ReadFile(stage.node().log_path()), testing::HasSubstr("quarantined"));
  EXPECT_EQ(stage.node().Terminate(), 0);
  stage.node().Start();
  EXPECT_TRUE(stage.AwaitLeading(&standing, standing.epoch));
}

// So does a resignation of somebody else than the leader, which claims the epoch as well.
TEST(ContradictionTest, IsSeenInAForeignResignationToo) {
  Stage stage;
  Standing standing;
  ASSERT_TRUE(stage.AwaitLeading(&standing));
  v1::EndQuorumEpochRequest request;
  *request.mutable_envelope() = stage.Envelope();
  CatalogEntry(&request)->set_leader_epoch(standing.epoch);
  v1::EndQuorumEpochResponse response;
  EXPECT_EQ(Word(Call(*stage.stubs().voter, &Voter::EndQuorumEpoch, request, &response), response),
            "BROKER_NOT_AVAILABLE");
  ASSERT_TRUE(stage.node().running());
  EXPECT_THAT(ReadFile(stage.node().log_path()), testing::HasSubstr("quarantined"));
}

TEST_F(PeerTest, WhatALaterVersionDoesIsNotImplemented) {
  v1::UpdateVoterResponse updated;
  v1::FetchSnapshotResponse piece;
  v1::DiscoverBrokersResponse known;
  const Stubs& stubs = stage().stubs();
  for (const grpc::Status& status :
       {Call(*stubs.voter, &Voter::UpdateVoter, v1::UpdateVoterRequest(), &updated),
        Call(*stubs.observer, &Observer::FetchSnapshot, v1::FetchSnapshotRequest(), &piece),
        Call(*stubs.observer, &Observer::DiscoverBrokers, v1::DiscoverBrokersRequest(), &known)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_FALSE(status.error_message().empty());
  }
}

}  // namespace
}  // namespace quorum::integration

// Bad input of peers: elections. Nothing that a puppet says may move the epoch, the role, the vote
// or the process of a real node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/peer_stage.h"

namespace quorum::integration {
namespace {

using Voter = v1::VoterService::Stub;
using Observer = v1::ObserverService::Stub;

TEST_P(PeerCallTest, IsAnsweredAndChangesNothing) { Check(GetParam()); }

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
          "incarnation 0", [](auto& e) { e.mutable_from()->set_incarnation(0); }, invalid),
      with(
          "incarnation 2^62", [](auto& e) { e.mutable_from()->set_incarnation(kLimit); }, invalid),
      with(
          "incarnation 2^64 - 1", [](auto& e) { e.mutable_from()->set_incarnation(UINT64_MAX); },
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

// BeginQuorumEpoch and EndQuorumEpoch that are right but for `change`: the puppet claims the next
// epoch, which the real node would adopt.
template <typename Request, typename Response, typename Change>
PeerCall OfClaim(const std::string& name,
                 grpc::Status (Voter::*method)(grpc::ClientContext*, const Request&, Response*),
                 const Change& change, const std::string& answer) {
  const auto call = [method, change](Stage& stage, int64_t mine) {
    Request request;
    *request.mutable_envelope() = stage.Envelope();
    auto* entry = CatalogEntry(&request);
    entry->set_leader_epoch(mine + 1);
    change(request, *entry, mine);
    Response response;
    return Word(Call(*stage.stubs().voter, method, request, &response), response);
  };
  return PeerCall{name, call, answer};
}

// The same case of either call.
template <typename Change>
void AddClaims(const std::string& name, const Change& change, const std::string& answer,
               std::vector<PeerCall>* calls) {
  calls->push_back(
      OfClaim(absl::StrCat("BeginQuorumEpoch: ", name), &Voter::BeginQuorumEpoch, change, answer));
  calls->push_back(
      OfClaim(absl::StrCat("EndQuorumEpoch: ", name), &Voter::EndQuorumEpoch, change, answer));
}

std::vector<PeerCall> ClaimedEpochs() {
  struct Case {
    const char* name;
    std::function<int64_t(int64_t)> epoch;
  };
  const std::vector<Case> cases = {
      {"epoch 0", [](int64_t) { return 0; }},
      {"epoch -1", [](int64_t) { return -1; }},
      {"epoch -2^63", [](int64_t) { return kLowest; }},
      {"epoch 2^62 - 1", [](int64_t) { return kLimit - 1; }},
      {"epoch 2^62", [](int64_t) { return kLimit; }},
      {"epoch 2^63 - 1", [](int64_t) { return kHighest; }},
      {"epoch mine + 2^32 + 1", [](int64_t mine) { return mine + kEpochJump + 1; }},
  };
  std::vector<PeerCall> calls;
  for (const Case& c : cases) {
    const auto change = [epoch = c.epoch](auto&, auto& p, int64_t mine) {
      p.set_leader_epoch(epoch(mine));
    };
    AddClaims(c.name, change, "INVALID_REQUEST", &calls);
  }
  return calls;
}

// What is wrong with the rest of the request.
std::vector<PeerCall> Claims() {
  std::vector<PeerCall> calls;
  const auto add = [&calls](const std::string& name, const auto& change,
                            const std::string& answer) { AddClaims(name, change, answer, &calls); };
  const std::string invalid = "\"INVALID_REQUEST\"";
  const std::string other = "\"INCONSISTENT_CLUSTER_ID\"";
  add(
      "another cluster id",
      [](auto& r, auto&, int64_t) { r.mutable_envelope()->set_cluster_id("other"); }, other);
  add(
      "no cluster id", [](auto& r, auto&, int64_t) { r.mutable_envelope()->clear_cluster_id(); },
      other);
  add(
      "no sender", [](auto& r, auto&, int64_t) { r.mutable_envelope()->clear_from(); }, invalid);
  add(
      "sender -1",
      [](auto& r, auto&, int64_t) { r.mutable_envelope()->mutable_from()->set_node_id(-1); },
      invalid);
  add(
      "sender's directory id of 15 bytes",
      [](auto& r, auto&, int64_t) {
        r.mutable_envelope()->mutable_from()->set_directory_id(std::string(15, 'd'));
      },
      invalid);
  add(
      "incarnation 2^62",
      [](auto& r, auto&, int64_t) {
        r.mutable_envelope()->mutable_from()->set_incarnation(uint64_t{1} << 62);
      },
      invalid);
  add(
      "lane 1 of 1", [](auto& r, auto&, int64_t) { r.mutable_envelope()->set_lane(1); }, invalid);
  add(
      "no partition", [](auto&, auto& p, int64_t) { p.clear_partition(); }, invalid);
  add(
      "topic id 0", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(0); }, invalid);
  add(
      "unknown topic", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(99); },
      "UNKNOWN_TOPIC_OR_PARTITION");
  add(
      "a partition twice",
      [](auto& r, auto&, int64_t) {
        auto topic = r.topics(0);
        *r.add_topics() = std::move(topic);
      },
      "INVALID_REQUEST");
  return calls;
}

INSTANTIATE_TEST_SUITE_P(ClaimedEpochs, PeerCallTest, testing::ValuesIn(ClaimedEpochs()));
INSTANTIATE_TEST_SUITE_P(Claims, PeerCallTest, testing::ValuesIn(Claims()));

// --- What does change something ---

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

#include "service/shard/peer_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

raft::Correlation To(int32_t peer, uint64_t number) { return {Key(peer), 1, number}; }

raft::VoteRequest Vote(int64_t epoch, bool pre_vote = false) {
  return {Key(1), Key(2), Epoch(epoch), OffsetAndEpoch{Offset(3), Epoch(1)}, pre_vote};
}

TEST(PeerOutboxTest, OneRequestPerDestinationLaneAndKindHoweverManySpeak) {
  PeerOutbox outbox;
  EXPECT_THAT(outbox.Take(), IsEmpty());
  for (uint64_t topic = 1; topic <= 1000; ++topic) {
    outbox.Add(Id(topic), Lane(0), To(2, topic), Vote(4));
    outbox.Add(Id(topic), Lane(0), To(3, topic), Vote(4));
    outbox.Add(Id(topic), Lane(1), To(3, topic), Vote(4));
  }
  outbox.Add(Id(1), Lane(0), To(2, 9), raft::BeginQuorumEpochRequest{Key(1), Key(2), Epoch(4)});
  outbox.Add(Id(1), Lane(0), To(2, 9), raft::EndQuorumEpochRequest{Key(1), Epoch(4), {Key(2)}});
  const std::vector<PeerOutbox::Batch> batches = outbox.Take();
  ASSERT_THAT(batches, SizeIs(5));
  for (const PeerOutbox::Batch& batch : batches) {
    const auto* votes = std::get_if<VoteBatch>(&batch.body);
    if (votes == nullptr) continue;
    EXPECT_THAT(votes->entries, SizeIs(1000));
    EXPECT_THAT(batch.correlations, SizeIs(1000));
    EXPECT_EQ(batch.correlations.at(Id(7)).peer, batch.to);
    EXPECT_EQ(batch.correlations.at(Id(7)).number, 7u);
  }
  EXPECT_THAT(outbox.Take(), IsEmpty()) << "taken once";
}

TEST(PeerOutboxTest, APartitionThatSpeaksTwiceInARoundHasChangedItsMind) {
  PeerOutbox outbox;
  outbox.Add(Id(1), Lane(0), To(2, 1), Vote(4, true));
  outbox.Add(Id(2), Lane(0), To(2, 2), Vote(7));
  outbox.Add(Id(1), Lane(0), To(2, 3), Vote(5));
  const std::vector<PeerOutbox::Batch> batches = outbox.Take();
  ASSERT_THAT(batches, SizeIs(1));
  const auto& entries = std::get<VoteBatch>(batches[0].body).entries;
  ASSERT_THAT(entries, SizeIs(2)) << "named twice it would be refused";
  EXPECT_EQ(entries[0].partition, Id(1));
  EXPECT_EQ(entries[0].epoch, Epoch(5));
  EXPECT_FALSE(entries[0].pre_vote);
  EXPECT_EQ(entries[1].partition, Id(2));
  EXPECT_EQ(batches[0].correlations.at(Id(1)).number, 3u);
}

TEST(PeerOutboxTest, CarriesWhatEachKindSays) {
  PeerOutbox outbox;
  outbox.Add(Id(1), Lane(3), To(2, 1), Vote(4, true));
  outbox.Add(Id(1), Lane(3), To(2, 2), raft::BeginQuorumEpochRequest{Key(1), Key(2), Epoch(5)});
  outbox.Add(Id(1), Lane(3), To(2, 3),
             raft::EndQuorumEpochRequest{Key(1), Epoch(6), {Key(3), Key(2)}});
  const std::vector<PeerOutbox::Batch> batches = outbox.Take();
  ASSERT_THAT(batches, SizeIs(3));
  const VoteEntry vote = std::get<VoteBatch>(batches[0].body).entries.at(0);
  EXPECT_EQ(vote.epoch, Epoch(4));
  EXPECT_EQ(vote.log_end, (OffsetAndEpoch{Offset(3), Epoch(1)}));
  EXPECT_TRUE(vote.pre_vote);
  EXPECT_EQ(std::get<BeginBatch>(batches[1].body).entries.at(0).epoch, Epoch(5));
  const EndEntry end = std::get<EndBatch>(batches[2].body).entries.at(0);
  EXPECT_EQ(end.epoch, Epoch(6));
  EXPECT_EQ(end.preferred_successors, (std::vector<ReplicaKey>{Key(3), Key(2)}));
  for (const PeerOutbox::Batch& batch : batches) EXPECT_EQ(batch.lane, Lane(3));
}

}  // namespace
}  // namespace quorum::shard

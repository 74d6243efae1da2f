#include "storage/layout/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "service/base/crc32c.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/value_codec.h"
#include "storage/layout/write_encoder.h"
#include "storage/memory/memory_image.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class RecoverTest : public ::testing::Test {
 protected:
  RecoverTest() { EncodeFormat(MakePlan(), &image_); }

  void Apply(const WriteSet& set) { EncodeWriteSet(set, &image_); }
  void Apply(Write write) { Apply(WriteSet{{std::move(write)}, false}); }

  // A replica with two epochs: [0, 3) of epoch 1 and [3, 8) of epoch 2.
  void MakeLog(PartitionId partition) {
    Apply(BirthSet(partition));
    Apply(ElectionSet(partition, 2, 1));
    Apply(AppendSet(partition, 0, 1, true, 2));
    Apply(AppendSet(partition, 2, 1, false, 1));
    Apply(AppendSet(partition, 3, 2, true, 5));
    Apply(PutVoters{partition, Offset(0), ThreeVoters()});
  }

  std::optional<StoreError> Recover() {
    return RecoverImage(image_, RecoveryBudget(), &recovered_);
  }
  std::string ReasonOfRecover() {
    const auto error = Recover();
    return error.has_value() ? error->reason : "none";
  }
  // What recovery says about kPartition's damage; "sound" when it says nothing.
  std::string DamageOf(PartitionId partition) {
    const auto error = Recover();
    if (error.has_value()) return "store: " + error->reason;
    const RecoveredReplica* replica = FindReplica(recovered_.store, partition);
    if (replica == nullptr) return "absent";
    return replica->damage.value_or("sound");
  }

  MemoryImage image_;
  RecoveredImage recovered_;
};

TEST_F(RecoverTest, RebuildsAFoundedDirectory) {
  ASSERT_EQ(ReasonOfRecover(), "none");
  EXPECT_EQ(recovered_.synced_number, 1u);
  EXPECT_EQ(recovered_.store.node.cluster_id, "test");
  EXPECT_EQ(recovered_.store.node.node, NodeId(1));
  EXPECT_EQ(recovered_.store.node.directory, kDirectory);
  EXPECT_EQ(recovered_.store.node.lanes, 4u);
  EXPECT_EQ(recovered_.store.node.incarnation, Incarnation(0));
  EXPECT_EQ(recovered_.store.catalog_position, Offset(0));
  ASSERT_EQ(recovered_.store.replicas.size(), 1u);
  const RecoveredReplica& metadata = recovered_.store.replicas[0];
  EXPECT_EQ(metadata.partition, kMetadataPartition);
  EXPECT_EQ(metadata.election, ElectionState{});
  EXPECT_EQ(metadata.voters.Latest(), ThreeVoters());
  EXPECT_EQ(metadata.voters.Latest().begin()->endpoint, "127.0.0.1:7101");
}

TEST_F(RecoverTest, AJoiningDirectoryHasNoReplica) {
  image_ = MemoryImage();
  EncodeFormat(MakePlan(true), &image_);
  ASSERT_EQ(ReasonOfRecover(), "none");
  EXPECT_TRUE(recovered_.store.replicas.empty());
}

TEST_F(RecoverTest, RebuildsALog) {
  MakeLog(kPartition);
  Apply(PutBounds{kPartition, Offset(8), Offset(3)});
  Apply(PutCatalogPosition{Offset(12)});
  ASSERT_EQ(ReasonOfRecover(), "none");
  EXPECT_EQ(recovered_.store.catalog_position, Offset(12));
  const RecoveredReplica& replica = *FindReplica(recovered_.store, kPartition);
  EXPECT_FALSE(replica.damage.has_value()) << *replica.damage;
  EXPECT_EQ(replica.log_start, Offset(0));
  EXPECT_EQ(replica.log_end, Offset(8));
  EXPECT_GT(replica.last_timestamp_ms, 0);
  EXPECT_THAT(replica.leader_epochs,
              ElementsAre(Pair(Epoch(1), Offset(0)), Pair(Epoch(2), Offset(3))));
  EXPECT_EQ(replica.election, ElectionOf(2, 1));
  EXPECT_EQ(replica.high_watermark_bound, Offset(3));
  EXPECT_EQ(replica.voters.LatestOffset(), Offset(0));
}

TEST_F(RecoverTest, TruncationCutsLogEpochsVotersAndTheEndBound) {
  MakeLog(kPartition);
  Apply(PutVoters{kPartition, Offset(3), ThreeVoters()});
  Apply(PutBounds{kPartition, Offset(8), Offset(2)});
  Apply(TruncateLog{kPartition, Offset(3)});
  ASSERT_EQ(DamageOf(kPartition), "sound");
  const RecoveredReplica& replica = *FindReplica(recovered_.store, kPartition);
  EXPECT_EQ(replica.log_end, Offset(3));
  EXPECT_THAT(replica.leader_epochs, ElementsAre(Pair(Epoch(1), Offset(0))));
  EXPECT_EQ(replica.voters.LatestOffset(), Offset(0));
  EXPECT_EQ(replica.high_watermark_bound, Offset(2));
}

TEST_F(RecoverTest, ABuriedReplicaKeepsItsQuorumStateOnly) {
  MakeLog(kPartition);
  Apply(PutBounds{kPartition, Offset(8), Offset(2)});
  Apply(BuryReplica{kPartition});
  ASSERT_EQ(ReasonOfRecover(), "none");
  const RecoveredReplica& replica = *FindReplica(recovered_.store, kPartition);
  EXPECT_TRUE(replica.tombstone);
  EXPECT_EQ(replica.election, ElectionOf(2, 1));
  EXPECT_EQ(image_.family(ColumnFamily::kLog).size(), 0u);
  EXPECT_EQ(image_.family(ColumnFamily::kLeaderEpochs).size(), 0u);

  // It is born again, with the votes of its earlier life and an empty log.
  Apply(BirthReplica{kPartition, std::nullopt, ElectionOf(2, 1)});
  ASSERT_EQ(DamageOf(kPartition), "sound");
  const RecoveredReplica& reborn = *FindReplica(recovered_.store, kPartition);
  EXPECT_FALSE(reborn.tombstone);
  EXPECT_EQ(reborn.election, ElectionOf(2, 1));
  EXPECT_EQ(reborn.log_end, Offset(0));
  EXPECT_TRUE(reborn.voters.Latest().empty());
}

TEST_F(RecoverTest, BuryingLeavesTheNeighboursAlone) {
  MakeLog(kPartition);
  MakeLog({kPartition.topic, kPartition.index + 1});
  MakeLog({kPartition.topic, kPartition.index - 1});
  Apply(BuryReplica{kPartition});
  EXPECT_EQ(DamageOf({kPartition.topic, kPartition.index + 1}), "sound");
  EXPECT_EQ(DamageOf({kPartition.topic, kPartition.index - 1}), "sound");
}

TEST_F(RecoverTest, AGapIsThatReplicasDamage) {
  MakeLog(kPartition);
  MakeLog(kOtherPartition);
  image_.Delete(ColumnFamily::kLog, OffsetKey(kPartition, Offset(2)));
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("gap"));
  EXPECT_EQ(DamageOf(kOtherPartition), "sound");
}

TEST_F(RecoverTest, AMissingFirstBatchIsDamage) {
  MakeLog(kPartition);
  image_.Delete(ColumnFamily::kLog, OffsetKey(kPartition, Offset(0)));
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("starts at 0"));
}

TEST_F(RecoverTest, AMissingTailIsDamageOnceABoundCoversIt) {
  MakeLog(kPartition);
  Apply(PutBounds{kPartition, Offset(8), Offset(0)});
  image_.Delete(ColumnFamily::kLog, OffsetKey(kPartition, Offset(3)));
  image_.Delete(ColumnFamily::kLeaderEpochs, OffsetKey(kPartition, Offset(3)));
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("once reached 8"));
}

TEST_F(RecoverTest, AnEmptyLogWithAWatermarkIsDamage) {
  Apply(BirthSet(kPartition));
  Apply(PutBounds{kPartition, Offset(0), Offset(5)});
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("committed up to 5"));
  EXPECT_EQ(FindReplica(recovered_.store, kPartition)->high_watermark_bound, Offset(0));
}

TEST_F(RecoverTest, ABatchThatTheEpochIndexContradictsIsDamage) {
  MakeLog(kPartition);
  image_.Delete(ColumnFamily::kLeaderEpochs, OffsetKey(kPartition, Offset(3)));
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("leader epochs contradict"));
}

TEST_F(RecoverTest, AnEpochThatDoesNotRiseIsDamage) {
  MakeLog(kPartition);
  Apply(PutLeaderEpoch{kPartition, Epoch(1), Offset(5)});
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("do not rise"));
}

TEST_F(RecoverTest, AnIndexEntryAboveTheLogIsDamage) {
  MakeLog(kPartition);
  Apply(PutLeaderEpoch{kPartition, Epoch(2), Offset(8)});
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("do not rise"));
  image_.Delete(ColumnFamily::kLeaderEpochs, OffsetKey(kPartition, Offset(8)));
  Apply(PutVoters{kPartition, Offset(8), ThreeVoters()});
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("voter set lies at or above"));
}

TEST_F(RecoverTest, ABatchUnderAnotherPlaceIsDamage) {
  MakeLog(kPartition);
  const RecordBatch other = MakeBatch(kOtherPartition, 3, 2, 5);
  image_.Put(ColumnFamily::kLog, OffsetKey(kPartition, Offset(3)), other.bytes());
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("damaged"));
  const RecordBatch shifted = MakeBatch(kPartition, 4, 2, 4);
  image_.Put(ColumnFamily::kLog, OffsetKey(kPartition, Offset(3)), shifted.bytes());
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("was made for offset 4"));
}

TEST_F(RecoverTest, TheTailIsCheckedAtLeastAsFarAsTheBudgetGoes) {
  MakeLog(kPartition);
  // What is stored of the producers saves reading the log for them.
  Apply(PutProducers{kPartition, ProducerSummary{Offset(8), Offset(8), 0}, {}, {}});
  ASSERT_TRUE(image_.FlipBit(ColumnFamily::kLog, 0, 300));
  RecoveryBudget one_batch;
  one_batch.total_bytes = 1;
  one_batch.replica_bytes_min = 1;
  ASSERT_FALSE(RecoverImage(image_, one_batch, &recovered_).has_value());
  EXPECT_FALSE(FindReplica(recovered_.store, kPartition)->damage.has_value());
  EXPECT_EQ(FindReplica(recovered_.store, kPartition)->log_end, Offset(8));
  EXPECT_THAT(DamageOf(kPartition), HasSubstr("batch at offset 0 is damaged"));
}

// Never treated as none: the replica may have voted.
TEST_F(RecoverTest, C010_AnUnreadableOrNewerQuorumStateStopsTheStore) {
  MakeLog(kPartition);
  const std::string key = PartitionKey(kPartition);
  std::string whole;
  ASSERT_TRUE(image_.Get(ColumnFamily::kQuorumState, key, &whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    image_.Put(ColumnFamily::kQuorumState, key, whole.substr(0, size));
    EXPECT_EQ(ReasonOfRecover(), kCorrupt) << "truncated to " << size;
  }
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    image_.Put(ColumnFamily::kQuorumState, key, damaged);
    EXPECT_EQ(ReasonOfRecover(), kCorrupt) << "bit " << bit;
  }
  // As a newer program seals it: its version, its payload, and a checksum over their place.
  std::string newer = "\x02payload of a newer program";
  const char family = static_cast<char>(ColumnFamily::kQuorumState);
  uint32_t crc = Crc32cExtend(Crc32c(absl::string_view(&family, 1)), key);
  crc = Crc32cExtend(crc, newer);
  for (int i = 0; i < 4; ++i) newer.push_back(static_cast<char>(crc >> (8 * i)));
  image_.Put(ColumnFamily::kQuorumState, key, newer);
  EXPECT_EQ(ReasonOfRecover(), kUnknownVersion);
  image_.Put(ColumnFamily::kQuorumState, key, whole);
  EXPECT_EQ(ReasonOfRecover(), "none");
}

TEST_F(RecoverTest, C015_AMissingQuorumStateStopsTheStore) {
  MakeLog(kPartition);
  image_.Delete(ColumnFamily::kQuorumState, PartitionKey(kPartition));
  const auto error = Recover();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kQuorumStateMissing);
  EXPECT_EQ(error->exit_code, kExitDamage);
}

TEST_F(RecoverTest, AMissingQuorumStateOfATombstoneStopsTheStore) {
  MakeLog(kPartition);
  Apply(BuryReplica{kPartition});
  image_.Delete(ColumnFamily::kQuorumState, PartitionKey(kPartition));
  EXPECT_EQ(ReasonOfRecover(), kQuorumStateMissing);
}

TEST_F(RecoverTest, ALogNewerThanItsQuorumStateStopsTheStore) {
  MakeLog(kPartition);
  Apply(PutElectionState{kPartition, ElectionOf(1, 1)});
  EXPECT_EQ(ReasonOfRecover(), kQuorumStateBehindLog);
}

TEST_F(RecoverTest, ALogWithoutABirthStopsTheStore) {
  MakeLog(kPartition);
  image_.Delete(ColumnFamily::kQuorumState, PartitionKey(kPartition));
  for (const ReplicaField field : {ReplicaField::kBirth, ReplicaField::kLogStart}) {
    image_.Delete(ColumnFamily::kDefault, ReplicaKeyOf(kPartition, field));
  }
  EXPECT_EQ(ReasonOfRecover(), kQuorumStateMissing);
}

TEST_F(RecoverTest, AQuorumStateWithoutABirthStopsTheStore) {
  Apply(PutElectionState{kPartition, ElectionOf(1, 1)});
  EXPECT_EQ(ReasonOfRecover(), kCorrupt);
}

TEST_F(RecoverTest, NoMarkerMeansHalfFormatted) {
  image_.Delete(ColumnFamily::kDefault, kFormattedKey);
  const auto error = Recover();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kHalfFormatted);
  EXPECT_EQ(error->exit_code, kExitIdentity);
}

TEST_F(RecoverTest, EveryOtherNodeRecordIsNeeded) {
  for (const char* key : {kIdentityKey, kIncarnationKey, kSyncedNumberKey, kCatalogPositionKey}) {
    MemoryImage whole = image_;
    image_.Delete(ColumnFamily::kDefault, key);
    EXPECT_EQ(ReasonOfRecover(), kCorrupt) << key;
    image_ = whole;
  }
}

TEST_F(RecoverTest, EveryFlippedBitOfEveryValueIsFound) {
  MakeLog(kPartition);
  Apply(PutBounds{kPartition, Offset(8), Offset(3)});
  ProducerState producer;
  producer.id = 7;
  producer.name = "name";
  producer.batches.push_back(ProducerBatch{0, 0, 1, Offset(2)});
  Apply(PutProducers{kPartition, ProducerSummary{Offset(3), Offset(3), 1000}, {producer}, {}});
  ASSERT_EQ(DamageOf(kPartition), "sound");
  const MemoryImage whole = image_;
  for (const ColumnFamily family : kColumnFamilies) {
    for (size_t position = 0; position < whole.family(family).size(); ++position) {
      size_t bit = 0;
      for (; image_.FlipBit(family, position, bit); ++bit) {
        const auto error = Recover();
        const RecoveredReplica* replica =
            error.has_value() ? nullptr : FindReplica(recovered_.store, kPartition);
        const RecoveredReplica* metadata =
            error.has_value() ? nullptr : FindReplica(recovered_.store, kMetadataPartition);
        EXPECT_TRUE(error.has_value() || replica->damage.has_value() ||
                    metadata->damage.has_value())
            << NameOf(family) << " value " << position << " bit " << bit;
        ASSERT_TRUE(image_.FlipBit(family, position, bit));
      }
      EXPECT_GT(bit, 0u);
    }
  }
}

TEST_F(RecoverTest, AnotherClusterOrNodeIsRefused) {
  ASSERT_EQ(ReasonOfRecover(), "none");
  const NodeIdentity& node = recovered_.store.node;
  EXPECT_FALSE(CheckIdentity(node, MakeExpected()).has_value());
  EXPECT_EQ(CheckIdentity(node, {"other", NodeId(1)})->reason, kClusterMismatch);
  EXPECT_EQ(CheckIdentity(node, {"test", NodeId(2)})->reason, kNodeMismatch);
  EXPECT_EQ(CheckIdentity(node, {"test", NodeId(2)})->exit_code, kExitIdentity);
}

}  // namespace
}  // namespace quorum::storage

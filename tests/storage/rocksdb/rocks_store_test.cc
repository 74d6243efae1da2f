#include "storage/rocksdb/rocks_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "service/base/mutex.h"
#include "storage/layout/dump.h"
#include "storage/memory/memory_image.h"
#include "tests/storage/rocksdb/store_harness.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

class RocksStoreTest : public ::testing::Test {
 protected:
  RocksStoreTest() : directory_(FreshPath("data")), options_(MakeOptions(directory_)) {
    FormatOrDie(directory_);
  }

  // kPartition with one batch for each of `batches` offsets, all of epoch 1.
  void WriteLog(RocksStore* store, int batches, size_t value_size = 10) {
    WriteAndWait(store, BirthSet(kPartition));
    for (int i = 0; i < batches; ++i) {
      WriteAndWait(store, AppendSet(kPartition, i, 1, i == 0, 1, value_size));
    }
  }

  // Waits until the floor has caught up with the database.
  void AwaitFloor(uint64_t number) {
    EXPECT_TRUE(AwaitTrue([this, number] {
      std::unique_ptr<AckedFloor> floor;
      return !AckedFloor::Open(FloorPath(directory_), &floor).has_value() &&
             floor->number() >= number;
    }));
  }

  const std::string directory_;
  StoreOptions options_;
};

TEST_F(RocksStoreTest, KeepsWhatWasWritten) {
  std::string before;
  {
    const auto store = OpenOrDie(options_);
    EXPECT_EQ(store->recovered().node.incarnation, Incarnation(1));
    WriteLog(store.get(), 5);
    WriteSet set;
    set.writes.push_back(PutVoters{kPartition, Offset(0), ThreeVoters()});
    set.writes.push_back(PutBounds{kPartition, Offset(5), Offset(4)});
    set.writes.push_back(PutCatalogPosition{Offset(33)});
    WriteAndWait(store.get(), std::move(set));
    WriteAndWait(store.get(), ElectionSet(kPartition, 4, 2));
  }
  for (uint64_t incarnation = 2; incarnation < 5; ++incarnation) {
    const auto store = OpenOrDie(options_);
    EXPECT_EQ(store->recovered().node.incarnation, Incarnation(incarnation));
    EXPECT_EQ(store->recovered().catalog_position, Offset(33));
    const RecoveredReplica& replica = *FindReplica(store->recovered(), kPartition);
    EXPECT_FALSE(replica.damage.has_value());
    EXPECT_EQ(replica.log_end, Offset(5));
    EXPECT_EQ(replica.high_watermark_bound, Offset(4));
    EXPECT_EQ(replica.election, ElectionOf(4, 2));
    EXPECT_EQ(replica.voters.LatestOffset(), Offset(0));
    const std::string fingerprint = Fingerprint(store.get(), kPartition);
    if (incarnation > 2) {
      EXPECT_EQ(fingerprint, before);
    }
    before = fingerprint;
  }
}

TEST_F(RocksStoreTest, TruncatesAndWritesTheSameOffsetsAgain) {
  {
    const auto store = OpenOrDie(options_);
    WriteLog(store.get(), 6, 5000);
    WriteSet set;
    set.writes.push_back(TruncateLog{kPartition, Offset(2)});
    set.writes.push_back(PutElectionState{kPartition, ElectionOf(2, 3)});
    set.writes.push_back(AppendBatch{kPartition, MakeBatch(kPartition, 2, 2, 3, 100)});
    set.writes.push_back(PutLeaderEpoch{kPartition, Epoch(2), Offset(2)});
    set.exact_floor = true;
    WriteAndWait(store.get(), std::move(set));
    const ReadResult batches = ReadAndWait(store.get(), kPartition, Offset(0), Offset(5));
    ASSERT_TRUE(batches.ok());
    EXPECT_EQ(batches->size(), 3u);
    EXPECT_EQ(batches->back().epoch(), Epoch(2));
  }
  const auto store = OpenOrDie(options_);
  const RecoveredReplica& replica = *FindReplica(store->recovered(), kPartition);
  EXPECT_FALSE(replica.damage.has_value()) << *replica.damage;
  EXPECT_EQ(replica.log_end, Offset(5));
  EXPECT_EQ(replica.leader_epochs.size(), 2u);
}

TEST_F(RocksStoreTest, BuriesAndBearsAgain) {
  {
    const auto store = OpenOrDie(options_);
    WriteLog(store.get(), 3);
    WriteAndWait(store.get(), ElectionSet(kPartition, 9, 3));
    WriteSet set;
    set.writes.push_back(BuryReplica{kPartition});
    set.exact_floor = true;
    WriteAndWait(store.get(), std::move(set));
  }
  {
    const auto store = OpenOrDie(options_);
    const RecoveredReplica& replica = *FindReplica(store->recovered(), kPartition);
    EXPECT_TRUE(replica.tombstone);
    EXPECT_EQ(replica.election, ElectionOf(9, 3));
    WriteSet set;
    set.writes.push_back(BirthReplica{kPartition, std::nullopt, replica.election});
    WriteAndWait(store.get(), std::move(set));
  }
  const auto store = OpenOrDie(options_);
  const RecoveredReplica& replica = *FindReplica(store->recovered(), kPartition);
  EXPECT_FALSE(replica.tombstone);
  EXPECT_EQ(replica.election, ElectionOf(9, 3));
  EXPECT_EQ(replica.log_end, Offset(0));
}

TEST_F(RocksStoreTest, MergesAllShardsAndCompletesInOrder) {
  constexpr int kShards = 4;
  constexpr int kSets = 200;
  Mutex mutex;
  std::vector<std::vector<int>> done(kShards);
  uint64_t syncs = 0;
  {
    const auto store = OpenOrDie(options_);
    std::vector<std::thread> shards;
    for (int shard = 0; shard < kShards; ++shard) {
      shards.emplace_back([&, shard] {
        const PartitionId partition{TopicId(100), static_cast<uint32_t>(shard)};
        store->writer()->Submit(BirthSet(partition), [] {});
        for (int i = 0; i < kSets; ++i) {
          store->writer()->Submit(AppendSet(partition, i, 1, i == 0), [&, shard, i] {
            MutexLock lock(&mutex);
            done[static_cast<size_t>(shard)].push_back(i);
          });
        }
      });
    }
    for (std::thread& shard : shards) shard.join();
    WriteAndWait(store.get(), ElectionSet(kMetadataPartition, 1, 1));
    syncs = store->writer()->counts().syncs;
    EXPECT_EQ(store->writer()->counts().write_sets, uint64_t{kShards * (kSets + 1) + 1});
  }
  for (const std::vector<int>& order : done) {
    ASSERT_EQ(order.size(), size_t{kSets});
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
  EXPECT_LT(syncs, uint64_t{kShards * kSets / 2}) << "Write sets are to share syncs.";
  const auto store = OpenOrDie(options_);
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(FindReplica(store->recovered(), {TopicId(100), shard})->log_end, Offset(kSets));
  }
}

TEST_F(RocksStoreTest, ClosingCompletesWhatWasSubmitted) {
  std::atomic<int> done{0};
  {
    const auto store = OpenOrDie(options_);
    store->writer()->Submit(BirthSet(kPartition), [&done] { ++done; });
    for (int i = 0; i < 50; ++i) {
      store->writer()->Submit(AppendSet(kPartition, i, 1, i == 0), [&done] { ++done; });
    }
  }
  EXPECT_EQ(done, 51);
  EXPECT_EQ(FindReplica(OpenOrDie(options_)->recovered(), kPartition)->log_end, Offset(50));
}

// Whatever has been completed is in a copy that a kill -9 at that moment would have left, and what
// comes back is a prefix of what was submitted.
TEST_F(RocksStoreTest, AKilledProcessLosesNothingThatWasCompleted) {
  std::vector<std::pair<std::string, int>> copies;
  {
    std::atomic<int> completed{0};
    const auto store = OpenOrDie(options_);
    store->writer()->Submit(BirthSet(kPartition), [] {});
    for (int i = 0; i < 200; ++i) {
      store->writer()->Submit(AppendSet(kPartition, i, 1, i == 0),
                              [&completed, i] { completed = i + 1; });
      if (i % 20 != 10) continue;
      const int at_least = completed;
      copies.emplace_back(FreshPath("killed"), at_least);
      CopyKilled(directory_, copies.back().first);
    }
  }
  for (const auto& [copy, at_least] : copies) {
    const auto store = OpenOrDie(MakeOptions(copy));
    const RecoveredReplica* replica = FindReplica(store->recovered(), kPartition);
    if (replica == nullptr) {
      EXPECT_EQ(at_least, 0);
      continue;
    }
    EXPECT_FALSE(replica->damage.has_value()) << *replica->damage;
    EXPECT_GE(replica->log_end.value(), at_least);
  }
}

TEST_F(RocksStoreTest, AnExactSetIsCoveredByTheFloorWhenItCompletes) {
  options_.writer.floor_lag = std::chrono::hours(1);
  options_.writer.floor_idle = std::chrono::hours(1);
  const auto store = OpenOrDie(options_);
  std::unique_ptr<AckedFloor> floor;
  uint64_t last = 0;
  for (int epoch = 1; epoch < 10; ++epoch) {
    WriteAndWait(store.get(), ElectionSet(kMetadataPartition, epoch, 1));
    ASSERT_FALSE(AckedFloor::Open(FloorPath(directory_), &floor).has_value());
    EXPECT_EQ(floor->number(), last == 0 ? floor->number() : last + 1);
    last = floor->number();
  }
  // Records alone do not raise it before it is due.
  WriteAndWait(store.get(), AppendSet(kMetadataPartition, 0, 1, true));
  ASSERT_FALSE(AckedFloor::Open(FloorPath(directory_), &floor).has_value());
  EXPECT_EQ(floor->number(), last);
}

TEST_F(RocksStoreTest, TheFloorFollowsRecordsWhenIdle) {
  options_.writer.floor_lag = std::chrono::hours(1);
  const auto store = OpenOrDie(options_);
  WriteLog(store.get(), 3);
  // Format 1, incarnation 2, birth 3, and three appends.
  AwaitFloor(6);
}

TEST_F(RocksStoreTest, TheFloorFollowsRecordsUnderLoad) {
  options_.writer.floor_lag = Duration::zero();
  options_.writer.floor_idle = std::chrono::hours(1);
  const auto store = OpenOrDie(options_);
  WriteLog(store.get(), 3);
  AwaitFloor(6);
}

TEST_F(RocksStoreTest, ARestoredBackupIsRefusedAndUnchanged) {
  const std::string backup = FreshPath("backup");
  {
    const auto store = OpenOrDie(options_);
    WriteLog(store.get(), 1);
  }
  CopyKilled(directory_, backup);
  {
    const auto store = OpenOrDie(options_);
    WriteAndWait(store.get(), ElectionSet(kPartition, 2, 3));
  }
  fs::remove_all(DatabasePath(directory_));
  fs::copy(DatabasePath(backup), DatabasePath(directory_), fs::copy_options::recursive);
  const std::string before = Snapshot(directory_);
  std::unique_ptr<RocksStore> store;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto error = RocksStore::Open(options_, &store);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->reason, kBehindAckedFloor);
    EXPECT_EQ(error->exit_code, kExitDamage);
    EXPECT_EQ(Snapshot(directory_), before);
  }
}

TEST_F(RocksStoreTest, WhatIsNotThisNodesIsRefusedAndUnchanged) {
  const std::string before = Snapshot(directory_);
  StoreOptions other = options_;
  other.expected.cluster_id = "other";
  EXPECT_EQ(ReasonOfOpen(other), kClusterMismatch);
  other = options_;
  other.expected.node = NodeId(2);
  EXPECT_EQ(ReasonOfOpen(other), kNodeMismatch);
  EXPECT_EQ(Snapshot(directory_), before);
}

TEST_F(RocksStoreTest, WhatIsNotFormattedIsRefusedAndNothingIsMade) {
  const std::string missing = FreshPath("missing");
  EXPECT_EQ(ReasonOfOpen(MakeOptions(missing)), kNotFormatted);
  EXPECT_FALSE(fs::exists(missing));
  fs::create_directories(missing);
  EXPECT_EQ(ReasonOfOpen(MakeOptions(missing)), kNotFormatted);
  EXPECT_TRUE(fs::is_empty(missing));
  WriteFile(missing + "/notes.txt", "mine");
  EXPECT_EQ(ReasonOfOpen(MakeOptions(missing)), kNotFormatted);
  EXPECT_EQ(FilesBelow(missing).size(), 1u);
}

TEST_F(RocksStoreTest, IsOpenOnceAtATime) {
  const auto store = OpenOrDie(options_);
  EXPECT_EQ(ReasonOfOpen(options_), kLocked);
  std::unique_ptr<ReadOnlyStore> reading;
  EXPECT_EQ(ReadOnlyStore::Open(directory_, RocksTuning(), &reading)->reason, kLocked);
}

TEST_F(RocksStoreTest, AFloorOfAnotherDirectoryIsDamage) {
  ASSERT_EQ(unlink(FloorPath(directory_).c_str()), 0);
  EXPECT_EQ(ReasonOfOpen(options_), kAckedFloorMissing);
  ASSERT_FALSE(AckedFloor::Create(FloorPath(directory_), DirectoryId{3, 4}).has_value());
  EXPECT_EQ(ReasonOfOpen(options_), kCorrupt);
}

TEST_F(RocksStoreTest, ReadsFromTablesAndBlobsAsWellAsFromMemory) {
  options_.tuning.log_memtable_bytes = 64 << 10;
  options_.tuning.metadata_memtable_bytes = 64 << 10;
  std::string before;
  {
    const auto store = OpenOrDie(options_);
    WriteLog(store.get(), 200, 3000);
    WriteAndWait(store.get(), AppendSet(kPartition, 200, 1, false, 5, 10));
    const ReadResult batches = ReadAndWait(store.get(), kPartition, Offset(0), Offset(205));
    ASSERT_TRUE(batches.ok()) << batches.status().message();
    EXPECT_EQ(batches->size(), 201u);
  }
  EXPECT_NE(NewestFile(directory_, ".blob"), "");
  EXPECT_NE(NewestFile(directory_, ".sst"), "");
  const auto store = OpenOrDie(options_);
  EXPECT_EQ(FindReplica(store->recovered(), kPartition)->log_end, Offset(205));
  EXPECT_NE(Fingerprint(store.get(), kPartition), "damaged");
}

TEST_F(RocksStoreTest, DumpAndVerifyReadAClosedStoreAndChangeNothing) {
  {
    const auto store = OpenOrDie(options_);
    WriteLog(store.get(), 3);
  }
  const std::string before = Snapshot(directory_);
  {
    std::unique_ptr<ReadOnlyStore> store;
    ASSERT_FALSE(ReadOnlyStore::Open(directory_, RocksTuning(), &store).has_value());
    std::vector<std::string> lines;
    const LineSink sink = [&lines](const std::string& line) { lines.push_back(line); };
    EXPECT_FALSE(DumpNode(store->database(), DumpFormat::kJson, sink).has_value());
    EXPECT_FALSE(DumpLog(store->database(), {kPartition, Offset(0)}, DumpFormat::kText, sink));
    EXPECT_FALSE(VerifyImage(store->database(), DumpFormat::kText, sink).has_value());
    EXPECT_EQ(lines.size(), 1u + 3u + 3u);
    RecoveredImage found;
    ASSERT_FALSE(ReadNodeRecords(store->database(), &found).has_value());
    EXPECT_FALSE(store->CheckFloor(found).has_value());
  }
  EXPECT_EQ(Snapshot(directory_), before);
}

TEST_F(RocksStoreTest, AFullReadQueueAnswersAtOnce) {
  // A reader whose only thread is held up by its first answer.
  Mutex gate;
  std::atomic<size_t> refused{0};
  std::atomic<size_t> answered{0};
  gate.Lock();
  {
    const MemoryImage image;
    RocksLogReader reader(&image, 1);
    const ReadRequest request{kPartition, Offset(0), Offset(1), 1};
    reader.Read(request, [&gate](const ReadResult&) { MutexLock lock(&gate); });
    for (size_t i = 0; i < RocksLogReader::kQueueMax + 5; ++i) {
      reader.Read(request, [&](const ReadResult& result) {
        ++answered;
        if (absl::IsResourceExhausted(result.status())) ++refused;
      });
    }
    EXPECT_GE(refused, 4u);
    gate.Unlock();
  }
  EXPECT_EQ(answered, RocksLogReader::kQueueMax + 5) << "Closing answers what is queued.";
}

}  // namespace
}  // namespace quorum::storage

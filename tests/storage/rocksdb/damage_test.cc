// A single fault in a single file of a closed store: a flipped bit, a missing file, a shortened
// file. Whatever the fault, the store either refuses to open with a named reason, or quarantines
// the damaged replica, or is complete; it never comes back with something else or something less.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/base/prng.h"
#include "service/base/producer.h"
#include "storage/layout/dump.h"
#include "tests/storage/rocksdb/store_harness.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

const std::vector<PartitionId>& Partitions() {
  static const std::vector<PartitionId> partitions = {kMetadataPartition, kPartition,
                                                      kOtherPartition};
  return partitions;
}

// A store that a killed process left, with tables, blob files and a WAL that is not flushed; the
// floor has caught up. Built once for all tests.
class DamageTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string live = FreshPath("live");
    source_ = FreshPath("source");
    FormatOrDie(live);
    FillTables(live);
    FillWal(live);
    const auto store = OpenOrDie(MakeOptions(CopyOf(source_)));
    for (const PartitionId partition : Partitions()) {
      sound_[partition] = Fingerprint(store.get(), partition);
      ASSERT_NE(sound_[partition], "damaged");
      ASSERT_NE(sound_[partition], "absent");
    }
    ASSERT_NE(NewestFile(source_, ".blob"), "");
    ASSERT_NE(NewestFile(source_, ".sst"), "");
    ASSERT_GT(ReadFile(NewestFile(source_, ".log")).size(), 400u);
  }

  static void FillTables(const std::string& live) {
    const auto store = OpenOrDie(MakeOptions(live));
    WriteAndWait(store.get(), BirthSet(kPartition));
    WriteAndWait(store.get(), BirthSet(kOtherPartition));
    for (int i = 0; i < 5; ++i) {
      WriteAndWait(store.get(), AppendSet(kPartition, 2 * i, 1, i == 0, 2, i == 2 ? 3000 : 20));
      WriteAndWait(store.get(), AppendSet(kOtherPartition, i, 1, i == 0, 1, 2000));
    }
    WriteSet set;
    set.writes.push_back(PutVoters{kPartition, Offset(0), ThreeVoters()});
    set.writes.push_back(PutBounds{kPartition, Offset(10), Offset(8)});
    set.writes.push_back(PutBounds{kOtherPartition, Offset(5), Offset(5)});
    ProducerState producer;
    producer.id = 7;
    producer.last_offset = Offset(4);
    producer.batches.push_back(ProducerBatch{0, 0, 1, Offset(4)});
    for (const auto& [partition, end] :
         {std::pair(kPartition, 10), std::pair(kOtherPartition, 5)}) {
      set.writes.push_back(
          PutProducers{partition, ProducerSummary{Offset(end), Offset(end), 1000}, {producer}, {}});
    }
    WriteAndWait(store.get(), std::move(set));
  }

  static void FillWal(const std::string& live) {
    // Opening moves what the WAL held into tables; what follows stays in the new WAL.
    const auto store = OpenOrDie(MakeOptions(live));
    for (int i = 0; i < 3; ++i) {
      WriteAndWait(store.get(), AppendSet(kPartition, 10 + i, 1, false, 1, 20));
    }
    WriteAndWait(store.get(), ElectionSet(kOtherPartition, 3, 2));
    CopyKilled(live, source_);
  }

  static std::string CopyOf(const std::string& source) {
    const std::string copy = FreshPath("copy");
    fs::copy(source, copy, fs::copy_options::recursive);
    return copy;
  }

  // How often each outcome was seen.
  struct Outcomes {
    int refused = 0;
    int quarantined = 0;
    int complete = 0;
    int all() const { return refused + quarantined + complete; }
  };

  // Looks at a copy that a fault was put into as a server does before it writes; fails the test
  // when the fault passes for the truth.
  void Judge(const std::string& copy, const std::string& fault, Outcomes* outcomes) {
    std::unique_ptr<ReadOnlyStore> store;
    RecoveredImage found;
    auto error = ReadOnlyStore::Open(copy, RocksTuning(), &store);
    if (!error.has_value()) error = store->Recover(MakeExpected(), RecoveryBudget(), &found);
    if (error.has_value()) {
      ++outcomes->refused;
      EXPECT_EQ(error->exit_code, kExitDamage) << fault << ": " << *error;
      EXPECT_FALSE(error->reason.empty());
    } else {
      ++(IsComplete(*store, found, fault) ? outcomes->complete : outcomes->quarantined);
    }
    store.reset();
    fs::remove_all(copy);
  }

  // False when a replica is damaged, and known to be.
  bool IsComplete(const ReadOnlyStore& store, const RecoveredImage& found,
                  const std::string& fault) {
    bool complete = true;
    for (const PartitionId partition : Partitions()) {
      const std::string text = Fingerprint(store.database(), found.store, partition);
      if (text == "damaged") {
        complete = false;
      } else {
        EXPECT_EQ(text, sound_[partition]) << fault;
      }
    }
    return complete;
  }

  void JudgeFlip(const std::string& file, size_t byte, int bit, Outcomes* outcomes) {
    const std::string copy = CopyOf(source_);
    std::string bytes = ReadFile(copy + "/" + file);
    bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
    WriteFile(copy + "/" + file, bytes);
    Judge(copy, file + " byte " + std::to_string(byte) + " bit " + std::to_string(bit), outcomes);
  }

  // Flips `count` bits of the file, one at a time, evenly spread with a random part.
  Outcomes JudgeFlips(const std::string& file, size_t count) {
    Prng prng(count);
    Outcomes outcomes;
    const size_t size = ReadFile(source_ + "/" + file).size();
    const size_t step = std::max<size_t>(size / count, 1);
    for (size_t at = 0; at < size; at += step) {
      const size_t byte = std::min(at + prng.Below(step), size - 1);
      JudgeFlip(file, byte, static_cast<int>(prng.Below(8)), &outcomes);
    }
    return outcomes;
  }

  static std::string source_;
  static std::map<PartitionId, std::string> sound_;
};

std::string DamageTest::source_;
std::map<PartitionId, std::string> DamageTest::sound_;

TEST_F(DamageTest, AFlippedBitInTheWal) {
  const std::string file = fs::relative(NewestFile(source_, ".log"), source_).string();
  const Outcomes outcomes = JudgeFlips(file, 300);
  EXPECT_EQ(outcomes.refused, outcomes.all());
}

TEST_F(DamageTest, AFlippedBitInAnyOtherFile) {
  Outcomes total;
  for (const std::string& file : FilesBelow(source_)) {
    const std::string extension = fs::path(file).extension().string();
    if (extension == ".log" || file == "lock") continue;
    const Outcomes outcomes = JudgeFlips(file, extension == ".sst" ? 15 : 30);
    total.refused += outcomes.refused;
    total.quarantined += outcomes.quarantined;
  }
  EXPECT_GT(total.refused, 0);
  EXPECT_GT(total.quarantined, 0);
}

// The blob file holds batches only: damage of one is that replica's, and the others live.
TEST_F(DamageTest, AFlippedBitInABatchQuarantinesItsReplicaOnly) {
  const std::string file = fs::relative(NewestFile(source_, ".blob"), source_).string();
  const std::string blob = ReadFile(source_ + "/" + file);
  // The values of kPartition's only large batch; see FillTables.
  const size_t at = blob.find(std::string(1000, 'e'));
  ASSERT_NE(at, std::string::npos);
  const std::string copy = CopyOf(source_);
  std::string bytes = blob;
  bytes[at] = 'f';
  WriteFile(copy + "/" + file, bytes);
  const auto store = OpenOrDie(MakeOptions(copy));
  EXPECT_EQ(Fingerprint(store.get(), kPartition), "damaged");
  EXPECT_EQ(Fingerprint(store.get(), kOtherPartition), sound_[kOtherPartition]);
  EXPECT_EQ(Fingerprint(store.get(), kMetadataPartition), sound_[kMetadataPartition]);
  // Its quorum state is intact, so its votes are not forgotten.
  EXPECT_EQ(FindReplica(store->recovered(), kPartition)->election.epoch, Epoch(1));
}

TEST_F(DamageTest, AMissingFile) {
  Outcomes outcomes;
  for (const std::string& file : FilesBelow(source_)) {
    const std::string copy = CopyOf(source_);
    fs::remove(copy + "/" + file);
    Judge(copy, "missing " + file, &outcomes);
  }
  EXPECT_GT(outcomes.refused, 3);
}

TEST_F(DamageTest, AMissingFloorOrDatabaseIsNamed) {
  std::string copy = CopyOf(source_);
  fs::remove(FloorPath(copy));
  EXPECT_EQ(ReasonOfOpen(MakeOptions(copy)), kAckedFloorMissing);
  copy = CopyOf(source_);
  fs::remove_all(DatabasePath(copy));
  EXPECT_EQ(ReasonOfOpen(MakeOptions(copy)), kCorrupt);
}

TEST_F(DamageTest, AnEmptiedFile) {
  Outcomes outcomes;
  for (const std::string& file : FilesBelow(source_)) {
    if (file == "lock") continue;
    const std::string copy = CopyOf(source_);
    WriteFile(copy + "/" + file, "");
    Judge(copy, "emptied " + file, &outcomes);
  }
  EXPECT_GT(outcomes.refused, 3);
}

// The floor has caught up with this store, so that a WAL that lost its end has lost something that
// was said, however clean the cut.
TEST_F(DamageTest, AShortenedWalBehindTheFloor) {
  const std::string wal = NewestFile(source_, ".log");
  const std::string bytes = ReadFile(wal);
  Outcomes outcomes;
  for (size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 100) {
    const std::string copy = CopyOf(source_);
    WriteFile(NewestFile(copy, ".log"), bytes.substr(0, size));
    Judge(copy, "WAL of " + std::to_string(size) + " bytes", &outcomes);
  }
  EXPECT_EQ(outcomes.refused, outcomes.all());
}

// The end of a WAL that no effect has left for: any cut gives a prefix.
TEST_F(DamageTest, ATornWalTailAboveTheFloor) {
  const std::string live = FreshPath("torn-live");
  const std::string killed = FreshPath("torn-killed");
  FormatOrDie(live);
  size_t floor_end = 0;
  {
    StoreOptions options = MakeOptions(live);
    options.writer.floor_lag = std::chrono::hours(1);
    options.writer.floor_idle = std::chrono::hours(1);
    const auto store = OpenOrDie(options);
    WriteAndWait(store.get(), BirthSet(kPartition));
    floor_end = ReadFile(NewestFile(live, ".log")).size();
    for (int i = 0; i < 4; ++i) WriteAndWait(store.get(), AppendSet(kPartition, i, 1, i == 0));
    CopyKilled(live, killed);
  }
  const std::string bytes = ReadFile(NewestFile(killed, ".log"));
  int64_t last_end = 0;
  for (size_t size = floor_end; size <= bytes.size(); size += 7) {
    const std::string copy = CopyOf(killed);
    WriteFile(NewestFile(copy, ".log"), bytes.substr(0, size));
    const auto store = OpenOrDie(MakeOptions(copy));
    const RecoveredReplica& replica = *FindReplica(store->recovered(), kPartition);
    EXPECT_FALSE(replica.damage.has_value()) << *replica.damage;
    EXPECT_GE(replica.log_end.value(), last_end);
    last_end = replica.log_end.value();
    fs::remove_all(copy);
  }
  EXPECT_GE(last_end, 3);
}

TEST_F(DamageTest, ARefusalChangesNothing) {
  const std::string copy = CopyOf(source_);
  const std::string wal = NewestFile(copy, ".log");
  std::string bytes = ReadFile(wal);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  WriteFile(wal, bytes);
  const std::string before = Snapshot(copy);
  EXPECT_EQ(ReasonOfOpen(MakeOptions(copy)), kCorrupt);
  EXPECT_EQ(ReasonOfOpen(MakeOptions(copy)), kCorrupt);
  EXPECT_EQ(Snapshot(copy), before);
}

TEST_F(DamageTest, VerifyFindsWhatABoundedRecoveryDoesNotLookAt) {
  const std::string copy = CopyOf(source_);
  const std::string file = NewestFile(copy, ".blob");
  std::string bytes = ReadFile(file);
  const size_t at = bytes.find(std::string(1000, 'e'));
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'f';
  WriteFile(file, bytes);
  StoreOptions options = MakeOptions(copy);
  options.recovery.total_bytes = 1;
  options.recovery.replica_bytes_min = 1;
  const auto error =
      VerifyDirectory(copy, RocksTuning(), DumpFormat::kText, [](const std::string&) {});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->exit_code, kExitDamage);
  const auto store = OpenOrDie(options);
  EXPECT_FALSE(FindReplica(store->recovered(), kPartition)->damage.has_value());
  // A reader that comes across it says so.
  EXPECT_TRUE(
      absl::IsDataLoss(ReadAndWait(store.get(), kPartition, Offset(0), Offset(10)).status()));
}

}  // namespace
}  // namespace quorum::storage

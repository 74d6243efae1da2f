// The facts about RocksDB 7.8.3 that our options rest on (reliability.md 7.7), each shown on the
// real library: what the default would do, and what ours does instead. A new version of the library
// that changes one of them fails here first.

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "storage/layout/key_codec.h"
#include "storage/layout/value_codec.h"
#include "storage/layout/write_encoder.h"
#include "storage/rocksdb/rocks_database.h"
#include "storage/rocksdb/rocks_options.h"
#include "tests/storage/rocksdb/power_cut_file_system.h"
#include "tests/storage/rocksdb/store_harness.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

// A plain database with a WAL of `kWrites` synced writes, as a killed process leaves it.
class WalFactsTest : public ::testing::Test {
 protected:
  static constexpr int kWrites = 10;

  WalFactsTest() : source_(FreshPath("source")) {
    rocksdb::Options options = PlainOptions(DefaultMode());
    options.create_if_missing = true;
    auto db = Open(source_, options);
    for (int i = 0; i < kWrites; ++i) {
      EXPECT_TRUE(db->Put(SyncedWrite(), Key(i), std::string(100, 'v')).ok());
    }
    CopyFlat(source_, Killed());
  }

  static rocksdb::WALRecoveryMode DefaultMode() { return rocksdb::DBOptions().wal_recovery_mode; }
  static rocksdb::WALRecoveryMode OurMode() {
    return MakeDatabaseOptions(RocksTuning(), DieOf).wal_recovery_mode;
  }
  static rocksdb::Options PlainOptions(rocksdb::WALRecoveryMode mode) {
    rocksdb::Options options;
    options.wal_recovery_mode = mode;
    options.avoid_flush_during_shutdown = true;
    return options;
  }
  static std::string Key(int i) { return "key" + std::to_string(i); }

  static std::unique_ptr<rocksdb::DB> Open(const std::string& path,
                                           const rocksdb::Options& options) {
    rocksdb::DB* db = nullptr;
    status_ = rocksdb::DB::Open(options, path, &db);
    return std::unique_ptr<rocksdb::DB>(db);
  }

  // How many of the writes a database that is opened in that mode holds; -1 when it refuses.
  int Survivors(rocksdb::WALRecoveryMode mode) {
    auto db = Open(Killed(), PlainOptions(mode));
    if (db == nullptr) return -1;
    int count = 0;
    std::string value;
    while (count < kWrites && db->Get(rocksdb::ReadOptions(), Key(count), &value).ok()) ++count;
    return count;
  }

  static void CopyFlat(const std::string& from, const std::string& to) {
    fs::copy(from, to, fs::copy_options::recursive);
  }

  std::string Killed() const { return source_ + "-killed"; }
  std::string Wal() const {
    for (const std::string& file : FilesBelow(Killed())) {
      if (fs::path(file).extension() == ".log") return Killed() + "/" + file;
    }
    return "";
  }

  const std::string source_;
  static rocksdb::Status status_;
};

rocksdb::Status WalFactsTest::status_;

TEST_F(WalFactsTest, TheDefaultRecoveryDropsSyncedWritesBehindDamageWithoutAWord) {
  std::string wal = ReadFile(Wal());
  wal[wal.size() / 2] = static_cast<char>(wal[wal.size() / 2] ^ 1);
  WriteFile(Wal(), wal);
  const int survivors = Survivors(DefaultMode());
  EXPECT_GT(survivors, 0);
  EXPECT_LT(survivors, kWrites);
}

TEST_F(WalFactsTest, OursRefusesDamageBeforeTheTail) {
  EXPECT_EQ(OurMode(), rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  std::string wal = ReadFile(Wal());
  wal[wal.size() / 2] = static_cast<char>(wal[wal.size() / 2] ^ 1);
  WriteFile(Wal(), wal);
  EXPECT_EQ(Survivors(OurMode()), -1);
  EXPECT_TRUE(status_.IsCorruption()) << status_.ToString();
}

TEST_F(WalFactsTest, OursAlsoRefusesAFlippedBitInTheLastRecord) {
  std::string wal = ReadFile(Wal());
  wal[wal.size() - 5] = static_cast<char>(wal[wal.size() - 5] ^ 1);
  WriteFile(Wal(), wal);
  EXPECT_EQ(Survivors(OurMode()), -1);
}

TEST_F(WalFactsTest, OursAcceptsTheTornTailOfAKilledProcess) {
  const std::string wal = ReadFile(Wal());
  WriteFile(Wal(), wal.substr(0, wal.size() - 7));
  EXPECT_EQ(Survivors(OurMode()), kWrites - 1);
}

TEST_F(WalFactsTest, TheStrictestModeRefusesTheTornTailOfAKilledProcess) {
  const std::string wal = ReadFile(Wal());
  WriteFile(Wal(), wal.substr(0, wal.size() - 7));
  EXPECT_EQ(Survivors(rocksdb::WALRecoveryMode::kAbsoluteConsistency), -1);
}

TEST(RocksFacts, DefaultsThatAreWrongForAVoter) {
  EXPECT_FALSE(rocksdb::WriteOptions().sync);
  EXPECT_TRUE(SyncedWrite().sync);
  EXPECT_FALSE(SyncedWrite().disableWAL);
  const rocksdb::DBOptions plain;
  const rocksdb::DBOptions ours = MakeDatabaseOptions(RocksTuning(), DieOf);
  EXPECT_EQ(plain.wal_recovery_mode, rocksdb::WALRecoveryMode::kPointInTimeRecovery);
  EXPECT_FALSE(plain.track_and_verify_wals_in_manifest);
  EXPECT_TRUE(ours.track_and_verify_wals_in_manifest);
  EXPECT_GT(plain.max_bgerror_resume_count, 0);
  EXPECT_EQ(ours.max_bgerror_resume_count, 0);
  EXPECT_EQ(ours.recycle_log_file_num, 0u);
  EXPECT_FALSE(ours.avoid_flush_during_recovery);
  EXPECT_TRUE(ours.atomic_flush);
  EXPECT_TRUE(ours.paranoid_checks);
}

TEST(RocksFacts, RecycledWalsAreDroppedInTheStrictMode) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.recycle_log_file_num = 4;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, FreshPath("recycle"), &db).ok());
  const std::unique_ptr<rocksdb::DB> owned(db);
  EXPECT_EQ(db->GetDBOptions().recycle_log_file_num, 0u);
}

// A database of ours with two WALs: flushing is held up, so that the older one is still needed.
class TwoWalsTest : public ::testing::Test {
 protected:
  TwoWalsTest() : path_(FreshPath("two-wals")), killed_(FreshPath("two-wals-killed")) {
    RocksTuning tuning;
    tuning.log_memtable_bytes = 64 << 10;
    std::unique_ptr<RocksDatabase> database;
    EXPECT_FALSE(RocksDatabase::Create(path_, tuning, DieOf, &database).has_value());
    EXPECT_TRUE(database->db()->PauseBackgroundWork().ok());
    for (int i = 0; CountWals(path_) < 2; ++i) Write(database.get(), i);
    for (int i = 0; i < 3; ++i) Write(database.get(), 10'000 + i);
    fs::copy(path_, killed_);
    EXPECT_TRUE(database->db()->ContinueBackgroundWork().ok());
  }

  void Write(RocksDatabase* database, int offset) {
    RocksSink sink(database);
    EncodeWriteSet(AppendSet(kPartition, offset, 1, false, 1, 1000), &sink);
    EncodeSyncedNumber(++number_, &sink);
    EXPECT_TRUE(database->Write(&sink).ok());
  }

  static int CountWals(const std::string& path) {
    int count = 0;
    for (const std::string& file : FilesBelow(path)) {
      if (fs::path(file).extension() == ".log") ++count;
    }
    return count;
  }

  std::string OlderWal() const {
    for (const std::string& file : FilesBelow(killed_)) {
      if (fs::path(file).extension() == ".log") return killed_ + "/" + file;
    }
    return "";
  }

  // Opens a copy without any check of ours; the number of the newest write, or 0 when it is
  // refused.
  uint64_t NumberOfPlainOpen(bool track) const {
    const std::string copy = FreshPath("two-wals-copy");
    fs::copy(killed_, copy);
    rocksdb::DBOptions options = MakeDatabaseOptions(RocksTuning(), DieOf);
    options.track_and_verify_wals_in_manifest = track;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    const auto families = MakeColumnFamilies(RocksTuning());
    if (!rocksdb::DB::Open(options, copy, families, &handles, &db).ok()) return 0;
    const std::unique_ptr<rocksdb::DB> owned(db);
    std::string value;
    EXPECT_TRUE(db->Get(rocksdb::ReadOptions(), handles[0], kSyncedNumberKey, &value).ok());
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
    return static_cast<uint64_t>(*DecodeNumber({ColumnFamily::kDefault, kSyncedNumberKey}, value));
  }

  // Where the last record's header starts: crc (4 bytes), length (2), type (1, 1 is a whole
  // record).
  static constexpr size_t kHeaderSize = 7;
  static size_t LastRecord(const std::string& wal) {
    for (size_t at = wal.size() - kHeaderSize; at > 0; --at) {
      const size_t length = static_cast<unsigned char>(wal[at + 4]) +
                            size_t{256} * static_cast<unsigned char>(wal[at + 5]);
      if (wal[at + 6] == 1 && at + kHeaderSize + length == wal.size()) return at;
    }
    ADD_FAILURE() << "The last record of the WAL was split; choose another size of batches.";
    return 0;
  }

  std::string ReasonOfOurOpen() const {
    std::unique_ptr<RocksDatabase> database;
    const auto error = RocksDatabase::OpenReadOnly(killed_, RocksTuning(), &database);
    return error.has_value() ? error->reason : "none";
  }

  const std::string path_;
  const std::string killed_;
  uint64_t number_ = 0;
};

TEST_F(TwoWalsTest, BothAreReplayed) {
  EXPECT_EQ(CountWals(killed_), 2);
  EXPECT_EQ(NumberOfPlainOpen(true), number_);
  EXPECT_EQ(ReasonOfOurOpen(), "none");
}

TEST_F(TwoWalsTest, AMissingWalIsNoticedOnlyWhenTracked) {
  ASSERT_EQ(unlink(OlderWal().c_str()), 0);
  EXPECT_EQ(NumberOfPlainOpen(false), number_) << "A hole, and the newest number all the same.";
  EXPECT_EQ(NumberOfPlainOpen(true), 0u);
  EXPECT_EQ(ReasonOfOurOpen(), kCorrupt);
}

TEST_F(TwoWalsTest, AShortenedOlderWalIsRefused) {
  const std::string wal = ReadFile(OlderWal());
  WriteFile(OlderWal(), wal.substr(0, wal.size() / 2));
  EXPECT_EQ(ReasonOfOurOpen(), kCorrupt);
}

// A record whose length reaches beyond the file counts as an incomplete tail, also when another WAL
// follows: the database steps over the hole, and only the numbers tell.
TEST_F(TwoWalsTest, AHoleThatTheDatabaseStepsOverIsFoundByOurNumbers) {
  const std::string wal = ReadFile(OlderWal());
  const size_t header = LastRecord(wal);
  int stepped_over = 0;
  for (size_t bit = 0; bit < 8 * kHeaderSize; ++bit) {
    std::string damaged = wal;
    damaged[header + bit / 8] = static_cast<char>(damaged[header + bit / 8] ^ (1 << (bit % 8)));
    WriteFile(OlderWal(), damaged);
    const uint64_t number = NumberOfPlainOpen(true);
    EXPECT_TRUE(number == number_ || number == 0) << "bit " << bit;
    if (number == number_) ++stepped_over;
    EXPECT_EQ(ReasonOfOurOpen(), kCorrupt) << "bit " << bit;
  }
  EXPECT_GT(stepped_over, 0);
}

// A database that may resume by itself takes writes again as if nothing had happened, although a
// sync has failed. Ours never gets there: its listener ends the process first (see above).
TEST(RocksFacts, APlainDatabaseResumesByItselfAfterAFailedSync) {
  const PowerCutEnv env;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.env = env.env.get();
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(options, FreshPath("resume"), &db).ok());
  const std::unique_ptr<rocksdb::DB> owned(db);
  ASSERT_TRUE(db->Put(SyncedWrite(), "a", "1").ok());
  env.file_system->FailTableSyncs(true);
  EXPECT_FALSE(db->Flush(rocksdb::FlushOptions()).ok());
  EXPECT_FALSE(db->Put(SyncedWrite(), "b", "2").ok());
  env.file_system->FailTableSyncs(false);
  EXPECT_TRUE(AwaitTrue([db] { return db->Put(SyncedWrite(), "b", "2").ok(); }));
}

}  // namespace
}  // namespace quorum::storage

// The store under power cuts, failing and hanging disks.

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "service/base/mutex.h"
#include "tests/storage/rocksdb/power_cut_file_system.h"
#include "tests/storage/rocksdb/store_harness.h"

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

// Puts the database of `directory` as a power cut would leave it into a directory of its own.
std::string AfterPowerCut(const PowerCutEnv& env, const std::string& directory) {
  const std::string target = FreshPath("cut");
  fs::create_directories(target);
  fs::copy(FloorPath(directory), FloorPath(target));
  fs::copy(LockPath(directory), LockPath(target));
  env.file_system->CopyDurable(DatabasePath(directory), DatabasePath(target));
  return target;
}

TEST(PowerCut, WhatCompletedSurvives) {
  const PowerCutEnv env;
  const std::string directory = FreshPath("data");
  StoreOptions options = MakeOptions(directory);
  options.tuning.env = env.env.get();
  options.tuning.log_memtable_bytes = 64 << 10;
  FormatResult result;
  ASSERT_FALSE(Format(directory, MakeRequest(), options.tuning, &result).has_value());
  const auto store = OpenOrDie(options);
  WriteAndWait(store.get(), BirthSet(kPartition));
  // Small memtables: flushes, new WALs and blob files happen on the way.
  for (int i = 0; i < 150; ++i) {
    WriteAndWait(store.get(), AppendSet(kPartition, i, 1, i == 0, 1, 2000));
    if (i % 10 != 0) continue;
    const auto survivor = OpenOrDie(MakeOptions(AfterPowerCut(env, directory)));
    EXPECT_EQ(FindReplica(survivor->recovered(), kPartition)->log_end, Offset(i + 1));
    EXPECT_NE(Fingerprint(survivor.get(), kPartition), "damaged");
  }
}

// A killed process leaves written, never synced records in the page cache; once the store has
// opened with them, a power cut must not take them any more.
TEST(PowerCut, WhatWasRecoveredSurvives) {
  const std::string directory = FreshPath("data");
  const std::string killed = FreshPath("killed");
  FormatOrDie(directory);
  {
    const auto store = OpenOrDie(MakeOptions(directory));
    WriteAndWait(store.get(), BirthSet(kPartition));
    for (int i = 0; i < 20; ++i) WriteAndWait(store.get(), AppendSet(kPartition, i, 1, i == 0));
    CopyKilled(directory, killed);
  }
  const PowerCutEnv env;
  env.file_system->AdoptKilled(DatabasePath(killed));
  {
    // Without opening, the power cut takes them: the fixture does what it is for.
    EXPECT_EQ(ReasonOfOpen(MakeOptions(AfterPowerCut(env, killed))), kBehindAckedFloor);
  }
  StoreOptions options = MakeOptions(killed);
  options.tuning.env = env.env.get();
  const auto store = OpenOrDie(options);
  EXPECT_EQ(FindReplica(store->recovered(), kPartition)->log_end, Offset(20));
  const auto survivor = OpenOrDie(MakeOptions(AfterPowerCut(env, killed)));
  EXPECT_EQ(FindReplica(survivor->recovered(), kPartition)->log_end, Offset(20));
  EXPECT_EQ(survivor->recovered().node.incarnation, Incarnation(3));
}

// What a power cut right after any sync leaves: of a log file, of a table, of a manifest, of a
// directory, while opening, writing, flushing and closing.
TEST(PowerCut, EverySyncIsAGoodPlaceToDie) {
  struct Cut {
    std::string directory;
    int completed = 0;
  };
  const std::string directory = FreshPath("data");
  PowerCutEnv env;
  Mutex mutex;
  std::vector<Cut> cuts;
  std::atomic<int> completed{0};
  StoreOptions options = MakeOptions(directory);
  options.tuning.env = env.env.get();
  options.tuning.log_memtable_bytes = 64 << 10;
  FormatResult result;
  ASSERT_FALSE(Format(directory, MakeRequest(), options.tuning, &result).has_value());
  env.file_system->SetObserver([&] {
    MutexLock lock(&mutex);
    const int at_least = completed;
    cuts.push_back({AfterPowerCut(env, directory), at_least});
  });
  OpenOrDie(options);
  {
    const auto store = OpenOrDie(options);
    WriteAndWait(store.get(), BirthSet(kPartition));
    // Enough for several tables.
    for (int i = 0; i < 60; ++i) {
      WriteAndWait(store.get(), AppendSet(kPartition, i, 1, i == 0, 1, 4000));
      completed = i + 1;
    }
  }
  OpenOrDie(options);
  MutexLock lock(&mutex);
  EXPECT_GT(cuts.size(), 50u);
  for (const Cut& cut : cuts) {
    const auto store = OpenOrDie(MakeOptions(cut.directory));
    const RecoveredReplica* replica = FindReplica(store->recovered(), kPartition);
    const int64_t log_end = replica == nullptr ? 0 : replica->log_end.value();
    EXPECT_GE(log_end, cut.completed);
    EXPECT_NE(Fingerprint(store.get(), kPartition), "damaged");
  }
}

TEST(HangingDisk, TheWatchdogCountsWithoutTheDisk) {
  const PowerCutEnv env;
  const std::string directory = FreshPath("data");
  FormatOrDie(directory);
  StoreOptions options = MakeOptions(directory);
  options.tuning.env = env.env.get();
  const auto store = OpenOrDie(options);
  const SyncWatchdog& watchdog = store->writer()->watchdog();
  EXPECT_EQ(watchdog.Outstanding(RealClock()->Now()), Duration::zero());
  env.file_system->HoldWalSyncs(true);
  std::atomic<bool> done{false};
  store->writer()->Submit(BirthSet(kPartition), [&done] { done = true; });
  EXPECT_TRUE(AwaitTrue([&watchdog] {
    return watchdog.Outstanding(RealClock()->Now()) > std::chrono::milliseconds(20);
  }));
  EXPECT_FALSE(done);
  env.file_system->HoldWalSyncs(false);
  EXPECT_TRUE(AwaitTrue([&done] { return done.load(); }));
  EXPECT_TRUE(AwaitTrue(
      [&watchdog] { return watchdog.Outstanding(RealClock()->Now()) == Duration::zero(); }));
}

TEST(FailingDiskDeathTest, AFailedSyncEndsTheProcessBeforeAnyCompletion) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string directory = FreshPath("data");
  EXPECT_EXIT(
      {
        const PowerCutEnv env;
        FormatOrDie(directory);
        StoreOptions options = MakeOptions(directory);
        options.tuning.env = env.env.get();
        const auto store = OpenOrDie(options);
        env.file_system->FailWalSyncs(true);
        store->writer()->Submit(BirthSet(kPartition), [] { _exit(99); });
        WriteAndWait(store.get(), ElectionSet(kMetadataPartition, 1, 1));
      },
      ::testing::ExitedWithCode(kExitDamage), "FATAL reason=IO_ERROR");
}

TEST(FailingDiskDeathTest, AFailureInTheBackgroundEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const std::string directory = FreshPath("data");
  EXPECT_EXIT(
      {
        const PowerCutEnv env;
        FormatOrDie(directory);
        StoreOptions options = MakeOptions(directory);
        options.tuning.env = env.env.get();
        options.tuning.log_memtable_bytes = 64 << 10;
        const auto store = OpenOrDie(options);
        env.file_system->FailTableSyncs(true);
        WriteAndWait(store.get(), BirthSet(kPartition));
        for (int i = 0; true; ++i) {
          WriteAndWait(store.get(), AppendSet(kPartition, i, 1, i == 0, 1, 2000));
        }
      },
      ::testing::ExitedWithCode(kExitDamage), "FATAL reason=IO_ERROR The database failed in the");
}

}  // namespace
}  // namespace quorum::storage

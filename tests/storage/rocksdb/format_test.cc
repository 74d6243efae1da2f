#include "storage/rocksdb/format.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include "storage/rocksdb/data_directory.h"
#include "tests/storage/rocksdb/store_harness.h"

namespace {

// Paths that were synced, by whomever in this process.
std::set<std::string>& Synced() {
  static auto* synced = new std::set<std::string>;
  return *synced;
}

}  // namespace

extern "C" int fsync(int file) {
  std::error_code error;
  const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  if (!error) Synced().insert(link.string());
  return static_cast<int>(syscall(SYS_fsync, file));
}

namespace quorum::storage {
namespace {

namespace fs = std::filesystem;

class FormatTest : public ::testing::Test {
 protected:
  FormatTest() : directory_(FreshPath("data")) {}

  std::string ReasonOfFormat(const FormatRequest& request) {
    const auto error = Format(directory_, request, RocksTuning(), &result_);
    if (error.has_value()) exit_code_ = error->exit_code;
    return error.has_value() ? error->reason : "none";
  }

  const std::string directory_;
  FormatResult result_;
  int exit_code_ = 0;
};

TEST_F(FormatTest, FoundsWithItsVoters) {
  EXPECT_EQ(ReasonOfFormat(MakeRequest()), "none");
  EXPECT_FALSE(result_.already_formatted);
  const auto store = OpenOrDie(MakeOptions(directory_));
  EXPECT_EQ(store->recovered().node.key(), KeyOf(1));
  EXPECT_EQ(store->recovered().node.lanes, 4u);
  const RecoveredReplica* metadata = FindReplica(store->recovered(), kMetadataPartition);
  ASSERT_NE(metadata, nullptr);
  EXPECT_EQ(metadata->voters.Latest(), ThreeVoters());
  EXPECT_EQ(metadata->election, ElectionState{});
}

TEST_F(FormatTest, JoinsBlank) {
  EXPECT_EQ(ReasonOfFormat(MakeRequest(true)), "none");
  EXPECT_TRUE(OpenOrDie(MakeOptions(directory_))->recovered().replicas.empty());
}

TEST_F(FormatTest, MakesMissingParents) {
  FormatResult result;
  const std::string nested = directory_ + "/a/b/";
  EXPECT_FALSE(Format(nested, MakeRequest(), RocksTuning(), &result).has_value());
  EXPECT_EQ(ReasonOfOpen(MakeOptions(nested)), "none");
}

// Whoever made it may not have synced its name.
TEST_F(FormatTest, ADirectoryThatIsThereKeepsItsName) {
  fs::create_directories(directory_);
  Synced().clear();
  EXPECT_EQ(ReasonOfFormat(MakeRequest()), "none");
  EXPECT_EQ(Synced().count(fs::canonical(fs::path(directory_).parent_path())), 1u);
  EXPECT_EQ(Synced().count(fs::canonical(directory_)), 1u);
}

TEST_F(FormatTest, ASecondTimeSaysSoAndChangesNothing) {
  ASSERT_EQ(ReasonOfFormat(MakeRequest()), "none");
  OpenOrDie(MakeOptions(directory_));
  const std::string before = Snapshot(directory_);
  FormatRequest again = MakeRequest(true);
  again.directory = DirectoryId{77, 77};
  EXPECT_EQ(ReasonOfFormat(again), "none");
  EXPECT_TRUE(result_.already_formatted);
  EXPECT_EQ(result_.node.directory, kDirectory);
  EXPECT_EQ(Snapshot(directory_), before);
}

TEST_F(FormatTest, AnotherIdentityIsRefusedAndChangesNothing) {
  ASSERT_EQ(ReasonOfFormat(MakeRequest()), "none");
  const std::string before = Snapshot(directory_);
  FormatRequest other = MakeRequest(true);
  other.cluster_id = "other";
  EXPECT_EQ(ReasonOfFormat(other), kClusterMismatch);
  EXPECT_EQ(exit_code_, kExitIdentity);
  other = MakeRequest(true);
  other.node = NodeId(2);
  EXPECT_EQ(ReasonOfFormat(other), kNodeMismatch);
  other = MakeRequest(true);
  other.directory = DirectoryId{77, 77};
  other.directory_given = true;
  EXPECT_EQ(ReasonOfFormat(other), kDirectoryMismatch);
  EXPECT_EQ(Snapshot(directory_), before);
}

TEST_F(FormatTest, AnyOtherNonEmptyDirectoryIsRefused) {
  fs::create_directories(directory_);
  WriteFile(directory_ + "/notes.txt", "mine");
  EXPECT_EQ(ReasonOfFormat(MakeRequest()), kNotEmpty);
  EXPECT_EQ(exit_code_, kExitBadConfig);
  EXPECT_EQ(FilesBelow(directory_).size(), 1u);
}

TEST_F(FormatTest, AFileSystemsOwnFolderIsNoObstacle) {
  fs::create_directories(directory_ + "/lost+found");
  EXPECT_EQ(ReasonOfFormat(MakeRequest()), "none");
}

TEST_F(FormatTest, ADirectoryInUseIsRefused) {
  ASSERT_EQ(ReasonOfFormat(MakeRequest()), "none");
  const auto store = OpenOrDie(MakeOptions(directory_));
  EXPECT_EQ(ReasonOfFormat(MakeRequest()), kLocked);
}

TEST_F(FormatTest, RequestsOutOfRangeAreRefusedBeforeAnythingIsMade) {
  FormatRequest request = MakeRequest();
  request.cluster_id = "";
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  request = MakeRequest();
  request.cluster_id = std::string(256, 'x');
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  request = MakeRequest();
  request.node = NodeId(0);
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  request = MakeRequest();
  request.directory = DirectoryId{};
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  for (const uint32_t lanes : {0u, 1025u}) {
    request = MakeRequest();
    request.lanes = lanes;
    EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  }
  // Not one of the initial voters: another node, or another directory of this node.
  request = MakeRequest();
  request.node = NodeId(9);
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  request = MakeRequest();
  request.directory = DirectoryId{9, 9};
  EXPECT_EQ(ReasonOfFormat(request), kBadRequest);
  EXPECT_EQ(exit_code_, kExitBadConfig);
  EXPECT_FALSE(fs::exists(directory_));
}

// Every state that a crash of format can leave, in its order.
TEST_F(FormatTest, AHalfFormattedDirectoryIsRefusedByOpenAndByFormat) {
  const auto refused = [this](const std::string& stage) {
    const std::string before = Snapshot(directory_);
    EXPECT_EQ(ReasonOfOpen(MakeOptions(directory_)), kHalfFormatted) << stage;
    EXPECT_EQ(ReasonOfFormat(MakeRequest()), kHalfFormatted) << stage;
    EXPECT_EQ(exit_code_, kExitIdentity);
    EXPECT_EQ(Snapshot(directory_), before) << stage;
  };
  fs::create_directories(directory_);
  WriteFile(LockPath(directory_), "");
  refused("lock");
  ASSERT_FALSE(AckedFloor::Create(FloorPath(directory_), kDirectory).has_value());
  refused("floor");
  fs::create_directories(DatabasePath(directory_));
  refused("empty database folder");
  {
    std::unique_ptr<RocksDatabase> database;
    ASSERT_FALSE(RocksDatabase::Create(DatabasePath(directory_), RocksTuning(), DieOf, &database));
  }
  refused("database without a marker");
}

TEST_F(FormatTest, ACrashBeforeTheFirstRaiseOfTheFloorIsHarmless) {
  ASSERT_EQ(ReasonOfFormat(MakeRequest()), "none");
  ASSERT_EQ(unlink(FloorPath(directory_).c_str()), 0);
  ASSERT_FALSE(AckedFloor::Create(FloorPath(directory_), kDirectory).has_value());
  EXPECT_EQ(ReasonOfOpen(MakeOptions(directory_)), "none");
}

}  // namespace
}  // namespace quorum::storage

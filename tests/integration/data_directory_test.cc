// What the daemon answers to a directory, a port or a flag that it cannot serve: exit code, token,
// and a directory that is left as it was. docs/bad-input.md lists the same cases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "service/base/check.h"
#include "service/base/crc32c.h"
#include "tests/integration/cluster.h"
#include "tests/integration/node.h"

namespace quorum::integration {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

constexpr int kStopped = 0;
constexpr int kBadConfig = 2;
constexpr int kIdentity = 3;
constexpr int kDamage = 4;

// A single node that has served once, so that its directory is one that was in use.
class UsedNode {
 public:
  UsedNode() : folder_(MakeScratchFolder("node")), node_(Settings(folder_)) {
    const ProgramResult formatted = node_.Found(node_.Voter());
    CHECK_EQ(formatted.exit_code, kStopped) << formatted.error;
  }
  ~UsedNode() {
    if (node_.running()) node_.Kill();
    if (testing::Test::HasFailure()) {
      std::cerr << "--- the end of the log:\n" << LastLines(node_.log_path(), 20) << std::endl;
    } else {
      fs::remove_all(folder_);
    }
  }

  Node& node() { return node_; }

  // Serves until the single voter has elected itself and its records are synced.
  void Serve() {
    node_.Start();
    const Stubs stubs(node_.address());
    ASSERT_TRUE(Await("the node serves", [&]() -> std::string {
      grpc::health::v1::HealthCheckResponse response;
      const grpc::Status status =
          Call(*stubs.health, &grpc::health::v1::Health::Stub::Check,
               grpc::health::v1::HealthCheckRequest(), &response, std::chrono::seconds(5));
      if (!status.ok()) return status.error_message();
      return response.status() == grpc::health::v1::HealthCheckResponse::SERVING ? "" : "not yet";
    }));
  }

  // A copy of a verb's words with one of them replaced, or added.
  std::vector<std::string> ServeWords(const std::string& name, const std::string& value) const {
    std::vector<std::string> words;
    for (const std::string& word : node_.ServeWords()) {
      if (word.rfind("--" + name + "=", 0) != 0) words.push_back(word);
    }
    words.push_back(absl::StrCat("--", name, "=", value));
    return words;
  }

  // Runs a server that is expected to end by itself.
  ProgramResult ServeInVain() { return RunProgram(node_.ServeWords()); }

 private:
  static NodeSettings Settings(const std::string& folder) {
    NodeSettings settings;
    settings.cluster_id = "used";
    settings.data_dir = folder + "/data";
    settings.log_path = folder + "/log";
    // One voter elects itself, so nothing can be too early.
    settings.flags = {"--election-timeout-ms=50", "--fetch-timeout-ms=1000",
                      "--request-timeout-ms=1000", "--fetch-max-wait-ms=250"};
    return settings;
  }

  std::string folder_;
  Node node_;
};

// The one line that says why the process ended.
void ExpectRefused(const ProgramResult& result, int exit_code, const std::string& reason) {
  EXPECT_EQ(result.exit_code, exit_code) << result.error;
  int lines = 0;
  for (const auto& line : absl::StrSplit(result.error, '\n')) {
    if (line.substr(0, 13) != "FATAL reason=") continue;
    ++lines;
    const std::string token(line.substr(13, line.find(' ', 13) - 13));
    EXPECT_EQ(token, reason) << result.error;
  }
  EXPECT_EQ(lines, 1) << result.error;
}

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  CHECK(file.good()) << path;
}

// Every file below a folder, by its name.
using Files = std::map<std::string, std::string>;

Files ReadFiles(const std::string& folder) {
  Files files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    files[path] = entry.is_regular_file() ? ReadFile(path) : "no file";
  }
  return files;
}

// Names and sizes of the files that differ.
std::string Difference(const Files& before, const Files& after) {
  std::string text;
  for (const auto& [name, content] : before) {
    const auto found = after.find(name);
    if (found == after.end()) absl::StrAppend(&text, name, " is gone\n");
    if (found == after.end() || found->second == content) continue;
    absl::StrAppend(&text, name, ": ", content.size(), " bytes, now ", found->second.size(), "\n");
  }
  for (const auto& [name, content] : after) {
    if (before.count(name) == 0) absl::StrAppend(&text, name, " is new\n");
  }
  return text;
}

std::string FirstFile(const std::string& folder, const std::string& extension) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == extension) return entry.path().string();
  }
  LOG(FATAL) << "no " << extension << " in " << folder;
}

// --- Flags ---

struct FlagCase {
  const char* flag;
  const char* value;
  const char* reason;
};

std::ostream& operator<<(std::ostream& out, const FlagCase& c) {
  return out << "--" << c.flag << "=" << c.value;
}

// One byte more than can be registered.
const char* LongAddress() {
  static const std::string text = std::string(251, 'a') + ":7101";
  return text.c_str();
}

class FlagTest : public testing::TestWithParam<FlagCase> {};

TEST_P(FlagTest, IsRefused) {
  UsedNode used;
  const FlagCase& c = GetParam();
  ExpectRefused(RunProgram(used.ServeWords(c.flag, c.value)), kBadConfig, c.reason);
}

INSTANTIATE_TEST_SUITE_P(
    OutOfRange, FlagTest,
    testing::Values(FlagCase{"election_timeout_ms", "0", "BAD_FLAG"},
                    FlagCase{"election_timeout_ms", "-1", "BAD_FLAG"},
                    FlagCase{"election_timeout_ms", "600001", "BAD_FLAG"},
                    FlagCase{"election_timeout_ms", "9223372036854775808", "BAD_FLAG"},
                    FlagCase{"election_timeout_ms", "1s", "BAD_FLAG"},
                    FlagCase{"election_timeout_ms", "", "BAD_FLAG"},
                    FlagCase{"node-id", "0", "BAD_FLAG"}, FlagCase{"node-id", "-1", "BAD_FLAG"},
                    FlagCase{"node-id", "2147483648", "BAD_FLAG"},
                    FlagCase{"shards", "1025", "BAD_FLAG"},
                    FlagCase{"cache_bytes", "1", "BAD_FLAG"},
                    FlagCase{"fetch_bytes_max", "67108865", "BAD_FLAG"},
                    FlagCase{"listen-address", "127.0.0.1", "BAD_FLAG"},
                    FlagCase{"listen-address", "127.0.0.1:0", "BAD_FLAG"},
                    FlagCase{"listen-address", "127.0.0.1:65536", "BAD_FLAG"},
                    FlagCase{"listen-address", "0.0.0.0:7101", "BAD_CONFIG"},
                    FlagCase{"advertised-address", LongAddress(), "BAD_FLAG"},
                    FlagCase{"bootstrap", "127.0.0.1:7101,,", "BAD_FLAG"},
                    FlagCase{"cluster-id", "", "BAD_FLAG"}, FlagCase{"data-dir", "", "BAD_FLAG"},
                    FlagCase{"no-such-flag", "1", "USAGE"}));

INSTANTIATE_TEST_SUITE_P(ThatDoNotGoTogether, FlagTest,
                         testing::Values(FlagCase{"fetch_timeout_ms", "40", "BAD_CONFIG"},
                                         FlagCase{"request_timeout_ms", "5000", "BAD_CONFIG"},
                                         FlagCase{"fetch_max_wait_ms", "900", "BAD_CONFIG"}));

INSTANTIATE_TEST_SUITE_P(OfOutput, FlagTest,
                         testing::Values(FlagCase{"trace-file", "/does/not/exist", "TRACE_FILE"},
                                         FlagCase{"trace-file", "/", "TRACE_FILE"},
                                         FlagCase{"record-bytes-max", "4194305", "BAD_CONFIG"},
                                         FlagCase{"batch-bytes-max", "8388609", "BAD_FLAG"},
                                         FlagCase{"http-address", "127.0.0.1", "BAD_FLAG"}));

INSTANTIATE_TEST_SUITE_P(Files, FlagTest,
                         testing::Values(FlagCase{"flagfile", "/does/not/exist", "USAGE"},
                                         FlagCase{"flagfile", "/", "USAGE"},
                                         FlagCase{"flagfile", "", "USAGE"},
                                         FlagCase{"fromenv", "node_id", "USAGE"}));

TEST(FlagTest, WhatAFlagFileSaysIsJudged) {
  UsedNode used;
  const std::string path = MakeScratchFolder("flags") + "/flags";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"--no-such-flag=1", "USAGE"},
      {"election-timeout-ms=50", "USAGE"},
      {"--election-timeout-ms", "USAGE"},
      {"--election-timeout-ms=x", "BAD_FLAG"},
      {"--flagfile=" + path, "USAGE"}};
  for (const auto& [line, reason] : cases) {
    WriteFile(path, "# A comment.\n" + line + "\n");
    SCOPED_TRACE(line);
    ExpectRefused(RunProgram(used.ServeWords("flagfile", path)), kBadConfig, reason);
  }
}

TEST(FlagTest, HttpAddressIsNotTheListenAddress) {
  UsedNode used;
  ExpectRefused(RunProgram(used.ServeWords("http-address", used.node().address())), kBadConfig,
                "BAD_CONFIG");
}

TEST(FlagTest, DumpAndVerifyAreJudgedToo) {
  UsedNode used;
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"dump"}, "USAGE"},
      {{"verify", "more"}, "USAGE"},
      {{"dump", "log"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=x"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=1"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=1:-1"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=1:0", "--format=xml"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=1:0", "--from-offset=-1"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=1:0", "--max-batches=0"}, "BAD_FLAG"},
      {{"dump", "log", "--partition=9:0"}, "BAD_REQUEST"},
      {{"dump", "quorum-state", "--partition=9:0"}, "BAD_REQUEST"},
      {{"verify", "--format=xml"}, "BAD_FLAG"}};
  for (const auto& [words, reason] : cases) {
    SCOPED_TRACE(testing::PrintToString(words));
    ExpectRefused(used.node().Run(words), kBadConfig, reason);
  }
  EXPECT_EQ(used.node().Run({"dump", "log", "--partition=1:0"}).exit_code, kStopped);
}

TEST(FlagTest, CheckConfigJudgesWithoutServing) {
  UsedNode used;
  EXPECT_EQ(RunProgram(used.ServeWords("check-config", "true")).exit_code, kStopped);
}

TEST(FlagTest, UnknownVerbIsRefused) {
  UsedNode used;
  ExpectRefused(used.node().Run({"frobnicate"}), kBadConfig, "USAGE");
  ExpectRefused(used.node().Run({"dump", "everything"}), kBadConfig, "USAGE");
}

// --- Directories that are not the one that is meant ---

TEST(DirectoryTest, BlankOrMissingIsNotFormatted) {
  UsedNode used;
  fs::remove_all(used.node().data_dir());
  ExpectRefused(used.ServeInVain(), kIdentity, "NOT_FORMATTED");
  EXPECT_FALSE(fs::exists(used.node().data_dir())) << "a server made a directory";
  fs::create_directory(used.node().data_dir());
  ExpectRefused(used.ServeInVain(), kIdentity, "NOT_FORMATTED");
  EXPECT_THAT(fs::directory_iterator(used.node().data_dir()) == fs::directory_iterator(), true);
}

TEST(DirectoryTest, DumpAndVerifyMakeNothing) {
  UsedNode used;
  fs::remove_all(used.node().data_dir());
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"verify"}, {"dump", "node"}}) {
    ExpectRefused(used.node().Run(words), kIdentity, "NOT_FORMATTED");
  }
  EXPECT_FALSE(fs::exists(used.node().data_dir()));
}

TEST(DirectoryTest, ThatIsAFileCannotBeRead) {
  UsedNode used;
  fs::remove_all(used.node().data_dir());
  WriteFile(used.node().data_dir(), "plain");
  ExpectRefused(used.ServeInVain(), kDamage, "IO_ERROR");
  ExpectRefused(used.node().Run({"verify"}), kDamage, "IO_ERROR");
  ExpectRefused(used.node().Join(), kDamage, "IO_ERROR");
  EXPECT_EQ(ReadFile(used.node().data_dir()), "plain");
}

// A format that the kernel kills at its first byte beyond a kilobyte: the acked floor is there, the
// database is not.
TEST(DirectoryTest, HalfFormattedIsWipedByPeopleOnly) {
  UsedNode used;
  fs::remove_all(used.node().data_dir());
  const std::string program = ProgramPath("service/server/quorumd");
  const ProgramResult killed = RunProgram(
      {"/bin/bash", "-c", "ulimit -c 0; ulimit -f 0; exec \"$@\"", "bash", program, "format",
       "--data-dir=" + used.node().data_dir(), "--cluster-id=used", "--node-id=1", "--join"});
  EXPECT_NE(killed.exit_code, kStopped);
  ASSERT_TRUE(fs::exists(used.node().data_dir()));
  const Files before = ReadFiles(used.node().data_dir());
  ExpectRefused(used.ServeInVain(), kIdentity, "HALF_FORMATTED");
  ExpectRefused(used.node().Run({"verify"}), kIdentity, "HALF_FORMATTED");
  ExpectRefused(used.node().Join(), kIdentity, "HALF_FORMATTED");
  EXPECT_EQ(Difference(before, ReadFiles(used.node().data_dir())), "");
  fs::remove_all(used.node().data_dir());
  EXPECT_EQ(used.node().Join().exit_code, kStopped);
}

TEST(DirectoryTest, OfAnotherClusterIsRefused) {
  UsedNode used;
  ExpectRefused(RunProgram(used.ServeWords("cluster-id", "other")), kIdentity, "CLUSTER_MISMATCH");
  used.node().settings().cluster_id = "other";
  ExpectRefused(used.node().Join(), kIdentity, "CLUSTER_MISMATCH");
}

TEST(DirectoryTest, OfAnotherNodeIsRefused) {
  UsedNode used;
  ExpectRefused(RunProgram(used.ServeWords("node-id", "2")), kIdentity, "NODE_MISMATCH");
  used.node().settings().id = 2;
  ExpectRefused(used.node().Join(), kIdentity, "NODE_MISMATCH");
}

TEST(DirectoryTest, FormattedAgainIsNotChanged) {
  UsedNode used;
  const std::string before = used.node().Run({"dump", "node"}).output;
  const ProgramResult again = used.node().Found(used.node().Voter());
  EXPECT_EQ(again.exit_code, kStopped);
  EXPECT_THAT(again.output, HasSubstr("already formatted, nothing changed"));
  EXPECT_EQ(used.node().Run({"dump", "node"}).output, before);
  ExpectRefused(used.node().Run({"format", "--cluster-id=used", "--node-id=1", "--join",
                                 "--directory-id=00000000-0000-4000-8000-00000000dead"}),
                kIdentity, "DIRECTORY_MISMATCH");
}

TEST(DirectoryTest, WithOtherFilesIsNotFormatted) {
  UsedNode used;
  fs::remove_all(used.node().data_dir());
  fs::create_directory(used.node().data_dir());
  WriteFile(used.node().data_dir() + "/diary", "dear");
  ExpectRefused(used.node().Join(), kBadConfig, "NOT_EMPTY");
  ExpectRefused(used.ServeInVain(), kIdentity, "NOT_FORMATTED");
  EXPECT_EQ(ReadFile(used.node().data_dir() + "/diary"), "dear");
}

TEST(DirectoryTest, FormatNeedsExactlyOneWay) {
  UsedNode used;
  ExpectRefused(used.node().Run({"format", "--cluster-id=used", "--node-id=1"}), kBadConfig,
                "BAD_FLAG");
  ExpectRefused(used.node().Run({"format", "--cluster-id=used", "--node-id=1", "--join",
                                 "--initial-voters=" + used.node().Voter()}),
                kBadConfig, "BAD_FLAG");
  ExpectRefused(used.node().Run({"format", "--cluster-id=used", "--node-id=9",
                                 "--initial-voters=" + used.node().Voter()}),
                kBadConfig, "BAD_CONFIG");
  ExpectRefused(used.node().Run({"format", "--cluster-id=used", "--node-id=1",
                                 "--initial-voters=1@127.0.0.1:7101"}),
                kBadConfig, "BAD_FLAG");
}

TEST(DirectoryTest, InUseIsLocked) {
  UsedNode used;
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  const std::string elsewhere = absl::StrCat("127.0.0.1:", PickPort());
  ExpectRefused(RunProgram(used.ServeWords("listen-address", elsewhere)), kBadConfig, "LOCKED");
  ExpectRefused(used.node().Found(used.node().Voter()), kBadConfig, "LOCKED");
  ExpectRefused(used.node().Run({"verify"}), kBadConfig, "LOCKED");
  EXPECT_EQ(used.node().Terminate(), kStopped);
  EXPECT_EQ(used.node().Run({"verify"}).exit_code, kStopped);
}

TEST(DirectoryTest, PortInUseIsRefused) {
  UsedNode used;
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  const std::string folder = MakeScratchFolder("second");
  NodeSettings settings;
  settings.id = 2;
  settings.cluster_id = "used";
  settings.data_dir = folder + "/data";
  settings.log_path = folder + "/log";
  Node second(settings);
  ASSERT_EQ(second.Join().exit_code, kStopped);
  for (const std::string flag : {"--listen-address=", "--http-address="}) {
    std::vector<std::string> words = second.ServeWords();
    words.push_back(flag + used.node().address());
    ExpectRefused(RunProgram(words), kBadConfig, "PORT_IN_USE");
  }
  EXPECT_EQ(used.node().Terminate(), kStopped);
}

// --- Damage ---

struct DamageCase {
  const char* name;
  std::function<void(const std::string& data_dir)> harm;
  const char* reason;
};

std::ostream& operator<<(std::ostream& out, const DamageCase& c) { return out << c.name; }

std::string WithBitFlipped(std::string bytes, size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 1);
  return bytes;
}

// As a later program would write it, with its checksum.
void MakeFloorNewer(const std::string& data) {
  constexpr size_t kVersionAt = 4;
  constexpr size_t kChecked = 32;
  std::string bytes = ReadFile(data + "/acked_floor");
  bytes.at(kVersionAt) = 2;
  const uint32_t checksum = Crc32c(bytes.substr(0, kChecked));
  for (size_t i = 0; i < 4; ++i) bytes.at(kChecked + i) = static_cast<char>(checksum >> (8 * i));
  WriteFile(data + "/acked_floor", bytes);
}

// Opens the database as anybody could who has the library, and changes it.
using Editor = std::function<void(rocksdb::DB*, rocksdb::ColumnFamilyHandle* elections)>;

void Edit(const std::string& data, const Editor& edit) {
  const std::string path = data + "/db";
  std::vector<std::string> names;
  CHECK(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open({}, path, families, &handles, &opened);
  CHECK(status.ok()) << status.ToString();
  const std::unique_ptr<rocksdb::DB> db(opened);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() == "quorum_state") edit(db.get(), handle);
  }
  // A write-ahead log that is not ours would be noticed first.
  CHECK(db->Flush({}, handles).ok());
  for (rocksdb::ColumnFamilyHandle* handle : handles)
    CHECK(db->DestroyColumnFamilyHandle(handle).ok());
}

std::map<std::string, std::string> Elections(rocksdb::DB* db,
                                             rocksdb::ColumnFamilyHandle* elections) {
  std::map<std::string, std::string> found;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, elections));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    found[it->key().ToString()] = it->value().ToString();
  }
  CHECK(!found.empty());
  return found;
}

class DamageTest : public testing::TestWithParam<DamageCase> {};

TEST_P(DamageTest, IsRefusedAndLeftAsItIs) {
  UsedNode used;
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  used.node().Kill();
  GetParam().harm(used.node().data_dir());
  const Files before = ReadFiles(used.node().data_dir());
  ExpectRefused(used.ServeInVain(), kDamage, GetParam().reason);
  EXPECT_EQ(Difference(before, ReadFiles(used.node().data_dir())), "");
  ExpectRefused(used.node().Run({"verify"}), kDamage, GetParam().reason);
  // A second start sees the same: nothing was repaired in silence.
  ExpectRefused(used.ServeInVain(), kDamage, GetParam().reason);
  EXPECT_EQ(Difference(before, ReadFiles(used.node().data_dir())), "");
}

INSTANTIATE_TEST_SUITE_P(
    Files, DamageTest,
    testing::Values(
        DamageCase{"the acked floor is gone",
                   [](const std::string& data) { fs::remove(data + "/acked_floor"); },
                   "ACKED_FLOOR_MISSING"},
        DamageCase{"the acked floor is of a newer version", MakeFloorNewer, "UNKNOWN_VERSION"},
        DamageCase{"the acked floor cannot be read",
                   [](const std::string& data) {
                     fs::remove(data + "/acked_floor");
                     fs::create_directory(data + "/acked_floor");
                   },
                   "IO_ERROR"},
        DamageCase{"the election state is gone",
                   [](const std::string& data) {
                     Edit(data, [](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* elections) {
                       for (const auto& [key, value] : Elections(db, elections)) {
                         CHECK(db->Delete({}, elections, key).ok());
                       }
                     });
                   },
                   "QUORUM_STATE_MISSING"},
        DamageCase{"the write-ahead log is empty",
                   [](const std::string& data) { WriteFile(FirstFile(data + "/db", ".log"), ""); },
                   "BEHIND_ACKED_FLOOR"},
        DamageCase{"a bit of the write-ahead log has flipped",
                   [](const std::string& data) {
                     const std::string path = FirstFile(data + "/db", ".log");
                     WriteFile(path, WithBitFlipped(ReadFile(path), 40));
                   },
                   "CORRUPT"},
        DamageCase{"the database is gone",
                   [](const std::string& data) { fs::remove_all(data + "/db"); }, "CORRUPT"},
        DamageCase{"the pointer to the manifest is gone",
                   [](const std::string& data) { fs::remove(data + "/db/CURRENT"); }, "CORRUPT"}));

// The election state of a backup that is older than the log.
TEST(DirectoryTest, ForgottenVotesAreNoticed) {
  UsedNode used;
  std::map<std::string, std::string> old;
  const auto read = [&old](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* elections) {
    old = Elections(db, elections);
  };
  Edit(used.node().data_dir(), read);
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  EXPECT_EQ(used.node().Terminate(), kStopped);
  Edit(used.node().data_dir(), [&old](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* elections) {
    for (const auto& [key, value] : old) CHECK(db->Put({}, elections, key, value).ok());
  });
  ExpectRefused(used.ServeInVain(), kDamage, "QUORUM_STATE_BEHIND_LOG");
  ExpectRefused(used.node().Run({"verify"}), kDamage, "QUORUM_STATE_BEHIND_LOG");
}

TEST(DirectoryTest, KilledServerComesBack) {
  UsedNode used;
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  used.node().Kill();
  EXPECT_EQ(used.node().Run({"verify"}).exit_code, kStopped);
  ASSERT_NO_FATAL_FAILURE(used.Serve());
  EXPECT_EQ(used.node().Terminate(), kStopped);
}

}  // namespace
}  // namespace quorum::integration

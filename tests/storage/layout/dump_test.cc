#include "storage/layout/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/layout/field_line.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/write_encoder.h"
#include "storage/memory/memory_image.h"
#include "tests/storage/store_fixtures.h"

namespace quorum::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class DumpTest : public ::testing::Test {
 protected:
  DumpTest() {
    EncodeFormat(MakePlan(), &image_);
    EncodeWriteSet(BirthSet(kPartition), &image_);
    EncodeWriteSet(ElectionSet(kPartition, 1, 2), &image_);
    EncodeWriteSet(AppendSet(kPartition, 0, 1, true, 2), &image_);
    EncodeWriteSet(AppendSet(kPartition, 2, 1, false, 1), &image_);
  }

  LineSink sink() {
    return [this](const std::string& line) { lines_.push_back(line); };
  }

  MemoryImage image_;
  std::vector<std::string> lines_;
};

TEST_F(DumpTest, Node) {
  ASSERT_FALSE(DumpNode(image_, DumpFormat::kText, sink()).has_value());
  ASSERT_FALSE(DumpNode(image_, DumpFormat::kJson, sink()).has_value());
  EXPECT_THAT(lines_,
              ElementsAre("cluster_id=test node_id=1 "
                          "directory_id=00000000-0000-1111-0000-000000002222 incarnation=0 lanes=4 "
                          "catalog_position=0 synced_number=1",
                          "{\"cluster_id\":\"test\",\"node_id\":1,"
                          "\"directory_id\":\"00000000-0000-1111-0000-000000002222\","
                          "\"incarnation\":0,\"lanes\":4,\"catalog_position\":0,"
                          "\"synced_number\":1}"));
}

TEST_F(DumpTest, QuorumState) {
  ASSERT_FALSE(DumpQuorumState(image_, std::nullopt, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre("topic=1 partition=0 epoch=0",
                                  "topic=7 partition=3 epoch=1 voted_id=2 "
                                  "voted_directory=00000000-0000-0001-0000-000000000002"));
  lines_.clear();
  ASSERT_FALSE(DumpQuorumState(image_, kPartition, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre(StartsWith("topic=7")));
  EXPECT_EQ(DumpQuorumState(image_, kOtherPartition, DumpFormat::kText, sink())->reason,
            kBadRequest);
}

TEST_F(DumpTest, LogThatWasNeverThereIsNoEmptyLog) {
  EXPECT_EQ(DumpLog(image_, {kOtherPartition, Offset(0)}, DumpFormat::kText, sink())->reason,
            kBadRequest);
  // The catalog is there, and blank.
  EXPECT_FALSE(DumpLog(image_, {kMetadataPartition, Offset(0)}, DumpFormat::kText, sink()));
  EXPECT_FALSE(DumpLog(image_, {kPartition, Offset(1000)}, DumpFormat::kText, sink()));
  EXPECT_THAT(lines_, testing::IsEmpty());
}

TEST_F(DumpTest, LogGoesOnBehindADamagedBatch) {
  ASSERT_FALSE(DumpLog(image_, {kPartition, Offset(0)}, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre(StartsWith("topic=7 partition=3 base_offset=0 last_offset=1 "
                                             "epoch=1 records=2 "),
                                  StartsWith("topic=7 partition=3 base_offset=2 ")));
  lines_.clear();
  ASSERT_TRUE(image_.FlipBit(ColumnFamily::kLog, 0, 320));
  EXPECT_EQ(DumpLog(image_, {kPartition, Offset(0)}, DumpFormat::kText, sink())->reason, kCorrupt);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("damage="), HasSubstr("base_offset=2 last_offset=2")));
}

TEST_F(DumpTest, LogStartsAndEndsWhereAsked) {
  ASSERT_FALSE(DumpLog(image_, {kPartition, Offset(1), 1}, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("base_offset=0")));
  lines_.clear();
  ASSERT_FALSE(DumpLog(image_, {kPartition, Offset(2)}, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("base_offset=2")));
}

TEST_F(DumpTest, VerifyNamesTheDamagedReplica) {
  ASSERT_FALSE(VerifyImage(image_, DumpFormat::kText, sink()).has_value());
  EXPECT_THAT(lines_, ElementsAre(StartsWith("topic=1 partition=0 state=sound"),
                                  StartsWith("topic=7 partition=3 state=sound log_start=0 "
                                             "log_end=3"),
                                  "replicas=2 damaged=0 synced_number=1"));
  lines_.clear();
  ASSERT_TRUE(image_.FlipBit(ColumnFamily::kLog, 0, 320));
  const auto error = VerifyImage(image_, DumpFormat::kText, sink());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kCorrupt);
  EXPECT_EQ(error->exit_code, kExitDamage);
  EXPECT_THAT(lines_[1], HasSubstr("state=damaged"));
}

TEST_F(DumpTest, VerifyLooksIntoReservedFamilies) {
  image_.Put(ColumnFamily::kSnapshots, PartitionKey(kPartition), "junk");
  const auto error = VerifyImage(image_, DumpFormat::kText, sink());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->reason, kCorrupt);
}

TEST(FieldLine, EscapesWhatWouldBreakALine) {
  FieldLine json(DumpFormat::kJson);
  json.AddText("na\"me", "a\nb\\c\"d");
  json.AddNumber("n", -1);
  EXPECT_EQ(json.Finish(), "{\"na\\\"me\":\"a\\u000ab\\\\c\\\"d\",\"n\":-1}");
  FieldLine text(DumpFormat::kText);
  text.AddText("plain", "word");
  text.AddText("blank", "two words");
  text.AddText("empty", "");
  EXPECT_EQ(text.Finish(), "plain=word blank=\"two words\" empty=\"\"");
}

}  // namespace
}  // namespace quorum::storage

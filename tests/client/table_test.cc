#include "client/quorumctl/table.h"

#include <gtest/gtest.h>

#include <string>

namespace quorum::client::quorumctl {
namespace {

TEST(TableTest, Columns_AreAlignedWithoutTrailingSpaces) {
  Table table({{"NAME"}, {"SIZE", Table::Align::kRight}, {"NOTE"}});
  table.AddRow({"a", "1", ""});
  table.AddRow({"longer", "12345", "x"});
  EXPECT_EQ(table.ToString(),
            "NAME     SIZE  NOTE\n"
            "a           1  -\n"
            "longer  12345  x\n");
}

TEST(TableTest, NoRows_IsTheHeader) { EXPECT_EQ(Table({{"A"}, {"B"}}).ToString(), "A  B\n"); }

TEST(TableTest, Utf8_TakesAColumnPerCodePoint) {
  Table table({{"N"}, {"X"}});
  table.AddRow({"é", "1"});
  table.AddRow({"ab", "2"});
  EXPECT_EQ(table.ToString(), "N   X\né   1\nab  2\n");
}

TEST(PrintableTest, Text_StaysAsItIs) {
  EXPECT_EQ(Printable("plain text, Grüße, 日本, 😀"), "plain text, Grüße, 日本, 😀");
}

TEST(PrintableTest, Everything_Else_IsEscaped) {
  EXPECT_EQ(Printable(std::string("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(Printable("a\nb\tc\rd\\e"), "a\\nb\\tc\\rd\\\\e");
  // Alone, cut short, overlong, a surrogate, beyond Unicode, and a control character of two bytes.
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\xc3"), "\\xc3");
  EXPECT_EQ(Printable("\xe0\x80\x80"), "\\xe0\\x80\\x80");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");
}

}  // namespace
}  // namespace quorum::client::quorumctl

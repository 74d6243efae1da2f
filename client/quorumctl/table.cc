#include "client/quorumctl/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::client::quorumctl {
namespace {

// How many columns of a terminal the text takes: a code point each.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// The length of the well-formed UTF-8 sequence of more than one byte at `at`, or 0. Sequences that
// encode control characters (U+0080 to U+009F) count as none, so that no output steers a terminal.
size_t SequenceLength(const std::string& bytes, size_t at) {
  const auto byte = [&bytes](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(at);
  size_t length = 0;
  if (lead >= 0xc2 && lead <= 0xdf) length = 2;
  if (lead >= 0xe0 && lead <= 0xef) length = 3;
  if (lead >= 0xf0 && lead <= 0xf4) length = 4;
  if (length == 0 || at + length > bytes.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool outside = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  const bool control = lead == 0xc2 && second < 0xa0;
  return overlong || outside || control ? 0 : length;
}

std::string Escaped(unsigned char c) {
  switch (c) {
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return absl::StrCat("\\x", absl::Hex(c, absl::kZeroPad2));
  }
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::AddRow(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), columns_.size()) << "a row with another number of cells";
  for (std::string& cell : cells) {
    if (cell.empty()) cell = "-";
  }
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = WidthOf(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, WidthOf(row[i]));
    widths.push_back(width);
  }
  std::string text;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - WidthOf(cell), ' ');
      const bool right = columns_[i].align == Align::kRight;
      absl::StrAppend(&line, i == 0 ? "" : "  ", right ? padding : "", cell, right ? "" : padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  add_line([this](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_line([&row](size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

std::string Printable(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size();) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    const size_t length = c < 0x80 ? 0 : SequenceLength(bytes, i);
    if (length > 0) {
      text.append(bytes, i, length);
      i += length;
      continue;
    }
    if (c >= 0x20 && c < 0x7f && c != '\\') {
      text.push_back(bytes[i]);
    } else {
      text += Escaped(c);
    }
    ++i;
  }
  return text;
}

}  // namespace quorum::client::quorumctl

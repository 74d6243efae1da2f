// Table: columns for people. Cells are padded to the widest of their column and parted by two
// spaces; lines do not end in spaces.
//
// Thread: a plain value.

#pragma once

#include <string>
#include <vector>

namespace quorum::client::quorumctl {

class Table {
 public:
  enum class Align { kLeft, kRight };

  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns);

  // One cell per column. An empty cell is shown as "-".
  void AddRow(std::vector<std::string> cells);

  std::string ToString() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Bytes as people can read them on one line: UTF-8 text as it is, everything else, backslashes and
// control characters as \xNN, \\, \n, \r, \t.
std::string Printable(const std::string& bytes);

}  // namespace quorum::client::quorumctl

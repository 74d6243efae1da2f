#include "tests/sim/statistics.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace quorum::sim {
namespace {

struct CounterName {
  const char* name;
  // A run of many seeds in which it stays zero has tested less than it says.
  bool required;
};

constexpr CounterName kNames[] = {
    {"seeds", true},
    {"events", true},
    {"rounds", true},
    {"elections", true},
    {"votes refused", true},
    {"resignations asked for", true},
    {"shutdowns handed over", true},
    {"truncations", true},
    {"truncations over several epochs", true},
    {"committed records", true},
    {"appends committed", true},
    {"appends refused", true},
    {"appends unknown", true},
    {"unknown appends found committed", true},
    {"unknown appends not committed", true},
    {"batches read", true},
    {"describes", true},
    {"crashes", true},
    {"crashes with lost data", true},
    {"power cuts", true},
    {"restarts", true},
    {"pauses", true},
    {"link cuts", true},
    {"requests lost", true},
    {"answers lost after execution", true},
    {"requests duplicated", true},
    {"fetch sessions ended", true},
    {"stuck disks", true},
    {"write sets in flight on one disk, at most", true},
    {"quarantines", true},
    {"wiped disks", true},
    {"topics created", true},
    {"topics deleted", true},
    {"registrations", true},
    {"controller changes", true},
    {"replicas born", true},
    {"late births of initial voters", true},
    {"replicas buried", true},
    {"observers moved", true},
    {"producer ids", true},
    {"batches of producers", true},
    {"duplicates answered", true},
    {"names bound", true},
    {"fenced appends", true},
    {"producers forgotten", true},
    {"conditional appends", true},
    {"conditional appends refused", true},
    {"conditional batches of producers", true},
    {"conditional batches refused", true},
    {"conditional duplicates answered", true},
    {"batches refused for their leader epoch", true},
    {"stalled controllers", true},
    {"clock changes", true},
    {"seeds run twice for their hash", false},
};
static_assert(std::size(kNames) == static_cast<size_t>(Counter::kCount));

}  // namespace

void Statistics::Max(Counter counter, uint64_t value) {
  uint64_t& known = values_[static_cast<size_t>(counter)];
  known = std::max(known, value);
}

void Statistics::Print(std::ostream& out) const {
  constexpr size_t kColumnsMax = 100;
  std::string line;
  for (size_t i = 0; i < values_.size(); ++i) {
    std::string entry = absl::StrCat(kNames[i].name, " ", values_[i]);
    entry += i + 1 < values_.size() ? "," : ".";
    if (line.size() + 1 + entry.size() > kColumnsMax) {
      out << line << '\n';
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += entry;
  }
  out << line << '\n';
}

std::vector<const char*> Statistics::Missing() const {
  std::vector<const char*> missing;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (kNames[i].required && values_[i] == 0) missing.push_back(kNames[i].name);
  }
  return missing;
}

}  // namespace quorum::sim

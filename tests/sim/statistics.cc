#include "tests/sim/statistics.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "service/base/check.h"

namespace quorum::sim {
namespace {

struct CounterName {
  const char* name;
  // A run of many seeds in which it stays zero has tested less than it says.
  bool required;
  // Of several processes the highest value counts, and not the sum.
  bool highest = false;
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
    {"write sets in flight on one disk, at most", true, true},
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
    {"leaders deposed in silence", true},
    {"attempts given up", true},
    {"seeds run twice for their hash", false},
};
static_assert(std::size(kNames) == static_cast<size_t>(Counter::kCount));

}  // namespace

void Statistics::Max(Counter counter, uint64_t value) {
  uint64_t& known = values_[static_cast<size_t>(counter)];
  known = std::max(known, value);
}

Duration Statistics::CostMedian() const {
  if (costs_.empty()) return Duration::zero();
  std::vector<Duration> sorted = costs_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

Duration Statistics::CostMax() const {
  return costs_.empty() ? Duration::zero() : *std::max_element(costs_.begin(), costs_.end());
}

void Statistics::Merge(const Statistics& other) {
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] =
        kNames[i].highest ? std::max(values_[i], other.values_[i]) : values_[i] + other.values_[i];
  }
  costs_.insert(costs_.end(), other.costs_.begin(), other.costs_.end());
}

std::string Statistics::Encode() const {
  std::string text = absl::StrJoin(values_, " ");
  for (const Duration cost : costs_) absl::StrAppend(&text, " ", cost.count());
  return text;
}

Statistics Statistics::Decode(const std::string& text) {
  Statistics statistics;
  const std::vector<std::string> numbers = absl::StrSplit(text, ' ');
  CHECK_GE(numbers.size(), statistics.values_.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    uint64_t number = 0;
    CHECK(absl::SimpleAtoi(numbers[i], &number)) << numbers[i];
    if (i < statistics.values_.size()) {
      statistics.values_[i] = number;
    } else {
      statistics.AddCost(Duration(static_cast<int64_t>(number)));
    }
  }
  return statistics;
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
  const auto seconds = [](Duration cost) { return std::chrono::duration<double>(cost).count(); };
  out << line << '\n'
      << "CPU seconds of a seed: median " << seconds(CostMedian()) << ", at most "
      << seconds(CostMax()) << '\n';
}

std::vector<const char*> Statistics::Missing() const {
  std::vector<const char*> missing;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (kNames[i].required && values_[i] == 0) missing.push_back(kNames[i].name);
  }
  return missing;
}

}  // namespace quorum::sim

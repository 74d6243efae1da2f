#include "tests/sim/conditions.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace quorum::sim {
namespace {

// Whether a record of a client lies at or above `from` and below `to`.
bool HasData(const ReplicaLog& log, Offset from, Offset to) {
  for (size_t i = log.CountBelow(from); i < log.size() && log[i].base_offset() < to; ++i) {
    if (!log[i].control() && log[i].next_offset() > from) return true;
  }
  return false;
}

}  // namespace

std::string WhyNotThere(const AppendConditions& conditions, const ReplicaLog& committed,
                        Offset base_offset, Epoch epoch) {
  if (epoch != conditions.leader_epoch.value_or(epoch)) {
    return absl::StrCat("was for epoch ", conditions.leader_epoch->value(), " and happened in ",
                        epoch.value());
  }
  if (!conditions.expected_offset.has_value()) return "";
  const Offset expected = *conditions.expected_offset;
  if (expected <= base_offset && !HasData(committed, expected, base_offset)) return "";
  return absl::StrCat("lies at ", base_offset.value(), " and expected the end at ",
                      expected.value(), "; somebody else was first");
}

std::string WhyNoMismatch(Offset expected, const ReplicaLog& committed,
                          const shard::AppendResult& result) {
  if (result.committed_end > committed.end()) {
    return absl::StrCat("the committed end is said to be ", result.committed_end.value(),
                        "; it is ", committed.end().value());
  }
  // A log that does not reach the offset is not as expected either.
  if (result.committed_end < expected) return "";
  if (HasData(committed, expected, committed.end())) return "";
  return absl::StrCat("a condition on ", expected.value(),
                      " is said not to hold; nothing of a client is committed there");
}

}  // namespace quorum::sim

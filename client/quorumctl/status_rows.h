// The rows of `quorumctl status`: one per partition, the ones that need somebody first.
//
// Thread: pure functions.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/admin.h"
#include "client/partition_name.h"

namespace quorum::client::quorumctl {

struct StatusRow {
  enum class State {
    // No leader is known: nothing can be appended.
    kLeaderless,
    // A voter lags, or the leader has not heard of it, in its epoch or for long.
    kBehind,
    kWell,
  };
  PartitionName partition;
  PartitionQuorum quorum;
  State state = State::kWell;
  // The most records that a voter lacks; empty when not known of each.
  std::optional<int64_t> lag;
};

// A voter lags when it lacks more records than that: those that are on their way are no fault.
inline constexpr int64_t kLagMax = 1000;
// A voter that lives fetches several times a second, also of a partition that is idle.
inline constexpr int64_t kSilenceMaxSeconds = 10;

void AddRows(TopicQuorums topic, std::vector<StatusRow>* rows);

// Leaderless ones first, then those behind, then by name.
void SortRows(std::vector<StatusRow>* rows);

// "leaderless", "behind" or "well".
std::string StateName(const StatusRow& row);

// "1,2,3?": the nodes, with a question mark behind one that the leader has not heard of.
template <typename Replicas>
std::string NodesOf(const Replicas& replicas) {
  std::string nodes;
  for (const auto& replica : replicas) {
    absl::StrAppend(&nodes, nodes.empty() ? "" : ",", replica.node_id(),
                    replica.has_log_end_offset() ? "" : "?");
  }
  return nodes;
}

}  // namespace quorum::client::quorumctl

#include "client/quorumctl/status_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace quorum::client::quorumctl {
namespace {

// A voter that the leader has heard of in its epoch, not long ago.
bool IsHeard(const v1::DescribeQuorumResponse::ReplicaState& voter) {
  return voter.has_log_end_offset() && voter.last_fetch_age().seconds() < kSilenceMaxSeconds;
}

StatusRow RowOf(const std::string& topic, PartitionQuorum quorum) {
  StatusRow row;
  row.partition = {topic, quorum.partition()};
  bool all_heard = quorum.has_log_end_offset() && quorum.current_voters_size() > 0;
  int64_t lag = 0;
  for (const auto& voter : quorum.current_voters()) {
    all_heard &= IsHeard(voter);
    lag = std::max(lag, quorum.log_end_offset() - voter.log_end_offset());
  }
  if (all_heard) row.lag = lag;
  if (quorum.has_error() || !quorum.has_leader_id()) {
    row.state = StatusRow::State::kLeaderless;
  } else if (!all_heard || lag > kLagMax) {
    row.state = StatusRow::State::kBehind;
  }
  row.quorum = std::move(quorum);
  return row;
}

}  // namespace

void AddRows(TopicQuorums topic, std::vector<StatusRow>* rows) {
  for (PartitionQuorum& quorum : *topic.mutable_partitions()) {
    rows->push_back(RowOf(topic.topic(), std::move(quorum)));
  }
}

void SortRows(std::vector<StatusRow>* rows) {
  std::sort(rows->begin(), rows->end(), [](const StatusRow& a, const StatusRow& b) {
    return std::tie(a.state, a.partition) < std::tie(b.state, b.partition);
  });
}

std::string StateName(const StatusRow& row) {
  switch (row.state) {
    case StatusRow::State::kLeaderless:
      return "leaderless";
    case StatusRow::State::kBehind:
      return "behind";
    case StatusRow::State::kWell:
      return "well";
  }
  return "";
}

}  // namespace quorum::client::quorumctl

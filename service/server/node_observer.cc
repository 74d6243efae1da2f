#include "service/server/node_observer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::server {

bool LineLimit::Allow(MonoTime now, size_t* left_out) {
  *left_out = 0;
  if (now - second_began_ >= std::chrono::seconds(1)) {
    second_began_ = now;
    lines_ = 0;
    *left_out = std::exchange(left_out_, 0);
  }
  if (lines_ == kLinesPerSecond) {
    ++left_out_;
    return false;
  }
  ++lines_;
  return true;
}

size_t RefusalIndex(raft::RaftError error) {
  const auto* found = std::find(kRefusals.begin(), kRefusals.end(), error);
  return static_cast<size_t>(found - kRefusals.begin());
}

NodeObserver::NodeObserver(ShardStats* stats, const Clock* clock, Outputs outputs)
    : stats_(*stats), clock_(*clock), outputs_(std::move(outputs)) {}

void NodeObserver::OnTrace(PartitionId partition, const raft::TraceEvent& event) {
  if (outputs_.trace != nullptr) outputs_.trace->Write(partition, event);
  switch (event.kind) {
    case raft::TraceKind::kTransition:
      if (outputs_.hints != nullptr) outputs_.hints->Note(partition, {event.leader, event.epoch});
      if (event.from == event.to) break;
      Add(&stats_.role_changes, 1);
      if (event.to == raft::RoleKind::kCandidate) Add(&stats_.elections, 1);
      if (event.to == raft::RoleKind::kLeader) Add(&stats_.elections_won, 1);
      LogEvent(partition, event);
      break;
    case raft::TraceKind::kVoteGranted:
      Add(&stats_.votes_granted, 1);
      break;
    case raft::TraceKind::kVoteRefused:
      Add(&stats_.votes_refused, 1);
      break;
    case raft::TraceKind::kHighWatermark:
      high_watermarks_[partition] = event.offset;
      break;
    case raft::TraceKind::kTruncation:
      Add(&stats_.truncations, 1);
      LogEvent(partition, event);
      break;
    case raft::TraceKind::kQuarantine:
      // OnQuarantine says why.
      break;
  }
}

void NodeObserver::OnQuarantine(PartitionId partition, const std::string& reason) {
  LOG(ERROR) << "[p=" << outputs_.topic_name(partition.topic) << ":" << partition.index
             << "] quarantined, it neither votes nor serves: " << reason;
}

void NodeObserver::OnReplicas(size_t open) { stats_.replicas = open; }

void NodeObserver::OnAppend(size_t records, size_t bytes) {
  Add(&stats_.appended_batches, 1);
  Add(&stats_.appended_records, records);
  Add(&stats_.appended_bytes, bytes);
}

void NodeObserver::OnRefusal(raft::RaftError error) {
  const size_t index = RefusalIndex(error);
  if (index < kRefusals.size()) Add(&stats_.refusals[index], 1);
}

void NodeObserver::OnDamagedFetch(PartitionId partition, const ReplicaKey& leader) {
  Add(&stats_.damaged_fetches, 1);
  if (!AllowLine()) return;
  LOG(ERROR) << "[p=" << outputs_.topic_name(partition.topic) << ":" << partition.index
             << "] records that node " << leader.id << " sent came damaged; they are fetched again";
}

void NodeObserver::OnAppendJudged(shard::AppendRefusal refusal) {
  if (refusal == shard::AppendRefusal::kNone) Add(&stats_.duplicates, 1);
  for (size_t i = 0; i < kAppendRefusals.size(); ++i) {
    if (kAppendRefusals[i] == refusal) Add(&stats_.append_refusals[i], 1);
  }
}

void NodeObserver::Forget(const std::function<bool(PartitionId)>& open) {
  absl::erase_if(high_watermarks_, [&open](const auto& entry) { return !open(entry.first); });
}

std::string NodeObserver::Prefix(PartitionId partition, const raft::TraceEvent& event) const {
  const auto found = high_watermarks_.find(partition);
  const std::string watermark =
      found == high_watermarks_.end() ? "-" : absl::StrCat(found->second.value());
  return absl::StrCat("[p=", outputs_.topic_name(partition.topic), ":", partition.index,
                      " e=", event.epoch.value(), " ", raft::Name(event.to), " hw=", watermark,
                      " leo=", event.offset.value(), "]");
}

bool NodeObserver::AllowLine() {
  size_t left_out = 0;
  if (!limit_.Allow(clock_.Now(), &left_out)) return false;
  LOG_IF(INFO, left_out > 0) << left_out << " lines about partitions were left out";
  return true;
}

void NodeObserver::LogEvent(PartitionId partition, const raft::TraceEvent& event) {
  if (!AllowLine()) return;
  std::string leader = "none";
  if (event.leader.has_value()) leader = absl::StrCat(event.leader->id.value());
  if (event.kind == raft::TraceKind::kTruncation) {
    LOG(INFO) << Prefix(partition, event) << " log cut to " << event.offset << ": " << event.reason;
  } else {
    LOG(INFO) << Prefix(partition, event) << " was " << event.from << ": " << event.reason
              << "; leader=" << leader;
  }
}

}  // namespace quorum::server

#include "service/transport/describe_quorum.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "service/raft/replica.h"
#include "service/raft/trace.h"
#include "service/transport/call_deadline.h"
#include "service/transport/controller_codec.h"

namespace quorum::transport {
namespace {

using ReplicaState = v1::DescribeQuorumResponse::ReplicaState;

v1::ReplicaRole ToRole(raft::RoleKind kind) {
  switch (kind) {
    case raft::RoleKind::kUnattached:
      return v1::REPLICA_ROLE_UNATTACHED;
    case raft::RoleKind::kProspective:
      return v1::REPLICA_ROLE_PROSPECTIVE;
    case raft::RoleKind::kCandidate:
      return v1::REPLICA_ROLE_CANDIDATE;
    case raft::RoleKind::kLeader:
      return v1::REPLICA_ROLE_LEADER;
    case raft::RoleKind::kFollower:
      return v1::REPLICA_ROLE_FOLLOWER;
    case raft::RoleKind::kResigned:
      return v1::REPLICA_ROLE_RESIGNED;
  }
  return v1::REPLICA_ROLE_UNSPECIFIED;
}

// An instant of the monotonic clock as an age, and as wall time for people.
void EncodeInstant(MonoTime instant, MonoTime now, int64_t wall_ms,
                   google::protobuf::Timestamp* time, google::protobuf::Duration* age) {
  const Duration passed = std::max(now - instant, Duration::zero());
  EncodeDuration(passed, age);
  const int64_t ms =
      wall_ms - std::chrono::duration_cast<std::chrono::milliseconds>(passed).count();
  time->set_seconds(ms / 1000);
  time->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

void EncodeRow(const raft::ReplicaDescription& row, const ClientParts& parts,
               const shard::PartitionDescription& own, ReplicaState* state) {
  state->set_node_id(row.key.id.value());
  state->set_directory_id(row.key.directory.ToString());
  if (row.key == parts.self.self) {
    state->set_role(ToRole(own.role));
  } else if (!row.voter) {
    state->set_role(v1::REPLICA_ROLE_OBSERVER);
  } else if (row.log_end.has_value()) {
    state->set_role(v1::REPLICA_ROLE_FOLLOWER);
  }
  if (row.log_end.has_value()) state->set_log_end_offset(row.log_end->value());
  if (row.high_watermark.has_value()) state->set_high_watermark(row.high_watermark->value());
  const int64_t wall_ms = parts.clock.WallTimeMs();
  if (row.last_fetch.has_value()) {
    EncodeInstant(*row.last_fetch, own.now, wall_ms, state->mutable_last_fetch_time(),
                  state->mutable_last_fetch_age());
  }
  if (row.last_caught_up.has_value()) {
    EncodeInstant(*row.last_caught_up, own.now, wall_ms, state->mutable_last_caught_up_time(),
                  state->mutable_last_caught_up_age());
  }
}

// All that a replica knows that does not lead: who votes, and itself.
void EncodeOwnView(const ClientParts& parts, const shard::PartitionDescription& own,
                   v1::DescribeQuorumResponse::Partition* answer) {
  for (const Voter& voter : own.voters) {
    ReplicaState* state = answer->add_current_voters();
    state->set_node_id(voter.key.id.value());
    state->set_directory_id(voter.key.directory.ToString());
    if (voter.key == parts.self.self) {
      state->set_role(ToRole(own.role));
      state->set_log_end_offset(own.log_end.value());
    } else if (voter.key == own.hint.leader) {
      state->set_role(v1::REPLICA_ROLE_LEADER);
    }
  }
}

void EncodePlan(const ClientParts& parts, PartitionId partition,
                v1::DescribeQuorumResponse::Partition* answer) {
  const std::shared_ptr<const controller::TopicView> topic =
      parts.catalog.FindTopic(partition.topic);
  if (topic == nullptr || partition.index >= topic->partitions.size()) return;
  const controller::PartitionView& view = topic->partitions[partition.index];
  for (const ReplicaKey& key : view.assignment) EncodeName(key, answer->add_target_replicas());
  answer->set_plan_version(view.plan_version.value());
}

}  // namespace

void EncodeName(const ReplicaKey& key, v1::ReplicaName* name) {
  name->set_node_id(key.id.value());
  name->set_directory_id(key.directory.ToString());
}

void DescribeQuorumTraits::FillTopic(const controller::TopicView& view, Response::Topic* topic) {
  topic->set_topic_id(view.id.value());
}

bool DescribeQuorumTraits::Fill(const ClientParts& parts, const shard::PartitionDescription& own,
                                bool stale, Response::Partition* answer) {
  if (own.quarantine.has_value()) return false;
  if (own.hint.leader.has_value()) {
    answer->set_leader_id(own.hint.leader->id.value());
    answer->set_leader_directory_id(own.hint.leader->directory.ToString());
  }
  if (own.hint.epoch > Epoch(0)) answer->set_leader_epoch(own.hint.epoch.value());
  if (own.high_watermark.has_value()) answer->set_high_watermark(own.high_watermark->value());
  answer->set_log_start_offset(own.log_start.value());
  answer->set_log_end_offset(own.log_end.value());
  answer->set_epoch_committed(own.ready_leader);
  answer->set_stale(stale);
  if (stale) {
    EncodeOwnView(parts, own, answer);
  } else {
    for (const raft::ReplicaDescription& row : own.replicas) {
      EncodeRow(row, parts, own,
                row.voter ? answer->add_current_voters() : answer->add_observers());
    }
  }
  EncodePlan(parts, own.partition, answer);
  return true;
}

void DescribeQuorumTraits::Finish(const ClientParts& parts, Response* response) {
  for (const controller::NodeView& node : parts.catalog.Nodes()) {
    v1::NodeEndpoints* endpoints = response->add_nodes();
    endpoints->set_node_id(node.key.id.value());
    for (const controller::NodeEndpoint& endpoint : node.endpoints) {
      EncodeEndpoint(endpoint, endpoints->add_endpoints());
    }
  }
}

}  // namespace quorum::transport

#include "service/transport/elect_leader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(20);

}  // namespace

void ElectLeader::Run(ClientParts& parts, const std::string& topic,
                      const v1::ElectLeaderRequest::Partition& asked, const ElectOptions& options,
                      Answer* answer, Done done) {
  const std::shared_ptr<ElectLeader> flow(
      new ElectLeader(parts, topic, options, answer, std::move(done)));
  if (!asked.has_partition()) {
    flow->Fail(InvalidField("partition", "is required, also when it is 0"));
    return;
  }
  answer->set_partition(asked.partition());
  std::optional<FoundPartition> found = FindPartition(parts.catalog, topic, asked.partition());
  if (!found.has_value()) {
    flow->Fail(NotFound(parts.catalog, topic, asked.partition()));
    return;
  }
  flow->partition_ = *std::move(found);
  if (asked.has_node_id()) {
    flow->wanted_ = NodeId(asked.node_id());
  } else if (!flow->partition_.replicas.empty()) {
    flow->wanted_ = flow->partition_.replicas.front();
  }
  flow->Look();
}

ElectLeader::ElectLeader(ClientParts& parts, std::string topic, const ElectOptions& options,
                         Answer* answer, Done done)
    : parts_(parts),
      topic_(std::move(topic)),
      options_(options),
      answer_(answer),
      done_(std::move(done)) {}

void ElectLeader::Look() {
  shard::DescribeCall call;
  call.partition = partition_.id;
  call.done = [self = shared_from_this()](const shard::PartitionDescription& own) {
    self->OnLook(own);
  };
  if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
    Fail(Throttled("this node has too much to do"));
  }
}

void ElectLeader::OnLook(const shard::PartitionDescription& own) {
  const bool here = own.error == raft::RaftError::kNone;
  if (here && own.hint.epoch > Epoch(0)) parts_.hints.Note(partition_.id, own.hint);
  if (resigned_.has_value()) {
    if (here && own.hint.leader.has_value() && own.hint.epoch > *resigned_) {
      Settle(own.hint);
    } else {
      LookLater();
    }
    return;
  }
  if (here && own.role == raft::RoleKind::kLeader) {
    HandOver(own);
    return;
  }
  const shard::LeaderHint hint = parts_.hints.Find(partition_.id);
  if (!options_.may_forward) {
    Fail(NotLeader(parts_, hint));
    return;
  }
  if (hint.leader.has_value() && hint.leader->id != parts_.self.self.id) {
    Forward(hint.leader->id);
  } else {
    LookLater();
  }
}

void ElectLeader::HandOver(const shard::PartitionDescription& own) {
  const Voter* voter = own.voters.FindNode(wanted_);
  if (voter == nullptr) {
    Fail(CallError(v1::ERROR_REASON_VOTER_NOT_FOUND,
                   absl::StrCat("node ", wanted_.value(), " is no voter of the partition")));
    return;
  }
  if (voter->key == parts_.self.self) {
    Settle(own.hint);
    return;
  }
  resigned_ = own.hint.epoch;
  shard::ResignCall call;
  call.partition = partition_.id;
  call.preferred = voter->key;
  call.done = [self = shared_from_this()](raft::RaftError error,
                                          const shard::LeaderHint& /*hint*/) {
    // It may have lost its leadership meanwhile; then there is nothing to give up.
    if (error != raft::RaftError::kNone) self->resigned_.reset();
    self->LookLater();
  };
  if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
    Fail(Throttled("this node has too much to do"));
  }
}

void ElectLeader::Forward(NodeId leader) {
  v1::ElectLeaderRequest request;
  request.add_topics()->set_topic(topic_);
  v1::ElectLeaderRequest::Partition* partition = request.mutable_topics(0)->add_partitions();
  partition->set_partition(partition_.id.index);
  partition->set_node_id(wanted_.value());
  request.set_forwarded_by(parts_.self.self.id.value());
  request.set_cluster_id(parts_.self.cluster_id);
  const Duration left = std::max<Duration>(options_.deadline - parts_.clock.Now(), Duration(1));
  EncodeDuration(left, request.mutable_timeout());
  StartUnary<v1::ElectLeaderRequest, v1::ElectLeaderResponse>(
      parts_.calls, parts_.channels.Get(leader, ChannelUse::kForward),
      "/quorum.v1.AdminService/ElectLeader", std::move(request),
      left + std::chrono::milliseconds(100),
      [self = shared_from_this()](const grpc::Status& status,
                                  const v1::ElectLeaderResponse& response) {
        self->OnForwarded(status, response);
      });
}

void ElectLeader::OnForwarded(const grpc::Status& status, const v1::ElectLeaderResponse& response) {
  if (!status.ok() || response.topics_size() != 1 || response.topics(0).partitions_size() != 1) {
    LookLater();
    return;
  }
  const Answer& theirs = response.topics(0).partitions(0);
  const std::optional<shard::LeaderHint> hint = HintIn(parts_, theirs.error());
  if (hint.has_value()) parts_.hints.Note(partition_.id, *hint);
  if (HasReason(theirs.error(), v1::ERROR_REASON_NOT_LEADER) ||
      HasReason(theirs.error(), v1::ERROR_REASON_LEADER_NOT_AVAILABLE) ||
      HasReason(theirs.error(), v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION)) {
    LookLater();
    return;
  }
  *answer_ = theirs;
  done_();
}

void ElectLeader::LookLater() {
  if (options_.cancelled() || parts_.clock.Now() + kPause >= options_.deadline) {
    Fail(CallError(v1::ERROR_REASON_REQUEST_TIMED_OUT, "no new leader is known yet"));
    return;
  }
  RunAfter(kPause, [self = shared_from_this()] { self->Look(); });
}

void ElectLeader::Settle(const shard::LeaderHint& hint) {
  answer_->set_leader_id(hint.leader->id.value());
  answer_->set_leader_epoch(hint.epoch.value());
  done_();
}

void ElectLeader::Fail(const CallError& error) {
  const shard::LeaderHint hint = parts_.hints.Find(partition_.id);
  if (hint.leader.has_value()) answer_->set_leader_id(hint.leader->id.value());
  if (hint.epoch > Epoch(0)) answer_->set_leader_epoch(hint.epoch.value());
  *answer_->mutable_error() = error.ToRpc();
  done_();
}

}  // namespace quorum::transport

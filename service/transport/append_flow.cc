#include "service/transport/append_flow.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/transport/call_deadline.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {
namespace {

CallError CommitUnknown(const shard::AppendResult& result, bool deadline_passed) {
  CallError error(v1::ERROR_REASON_COMMIT_UNKNOWN,
                  deadline_passed
                      ? "not known to be committed in time: it may be in the log"
                      : "leadership was lost before the commit was known: it may be in the log");
  if (!deadline_passed) error.WithCode(grpc::StatusCode::UNAVAILABLE);
  if (result.epoch > Epoch(0)) error.With("offset", result.base_offset.value());
  return error;
}

// Why a batch does not follow the log, if that is why it was refused.
std::optional<CallError> RefusalByLog(const shard::AppendResult& result) {
  switch (result.refusal) {
    case shard::AppendRefusal::kNone:
      return std::nullopt;
    case shard::AppendRefusal::kProducerFenced:
      return CallError(v1::ERROR_REASON_PRODUCER_FENCED,
                       absl::StrCat("the producer has a newer epoch, ", result.producer_epoch))
          .With("producer_epoch", result.producer_epoch);
    case shard::AppendRefusal::kOutOfOrderSequence:
      return CallError(
                 v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE,
                 absl::StrCat("the producer's next sequence number is ", result.expected_sequence))
          .With("expected_sequence", result.expected_sequence);
    case shard::AppendRefusal::kUnknownProducer:
      return CallError(v1::ERROR_REASON_UNKNOWN_PRODUCER,
                       "the partition does not know this producer, or not in this epoch");
    case shard::AppendRefusal::kOffsetMismatch:
      return CallError(v1::ERROR_REASON_OFFSET_MISMATCH,
                       absl::StrCat("the log is not as expected; it is committed up to ",
                                    result.committed_end.value()))
          .With("log_end", result.committed_end.value());
  }
  return std::nullopt;
}

CallError RefusalOf(const ClientParts& parts, const shard::AppendResult& result) {
  std::optional<CallError> by_log = RefusalByLog(result);
  if (by_log.has_value()) return *std::move(by_log);
  switch (result.error) {
    case raft::RaftError::kFencedLeaderEpoch:
    case raft::RaftError::kUnknownLeaderEpoch: {
      CallError error(v1::ERROR_REASON_FENCED_LEADER_EPOCH,
                      "the partition is led in another epoch than the one named");
      if (result.hint.leader.has_value()) {
        error.With("leader_id", result.hint.leader->id.value());
      }
      return error.With("leader_epoch", result.hint.epoch.value());
    }
    case raft::RaftError::kThrottled:
      return Throttled("too many appends wait for this partition");
    case raft::RaftError::kRequestTimedOut:
      return CallError(v1::ERROR_REASON_REQUEST_TIMED_OUT,
                       "its time was over before it reached the log: this attempt is not in it");
    case raft::RaftError::kInvalidRequest:
      return CallError(v1::ERROR_REASON_INVALID_REQUEST, "the log cannot take these records");
    case raft::RaftError::kUnknownTopicOrPartition:
    case raft::RaftError::kNotLeaderOrFollower:
    case raft::RaftError::kBrokerNotAvailable:
      return NotLeader(parts, result.hint);
    case raft::RaftError::kNone:
    case raft::RaftError::kUnsupportedVersion:
    case raft::RaftError::kInvalidVoterKey:
      break;
  }
  return CallError(v1::ERROR_REASON_INTERNAL, "the replica refused for an odd reason");
}

}  // namespace

bool IsElsewhere(const google::rpc::Status& status) {
  for (const v1::ErrorReason reason :
       {v1::ERROR_REASON_NOT_LEADER, v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
        v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION, v1::ERROR_REASON_SHUTTING_DOWN}) {
    if (HasReason(status, reason)) return true;
  }
  return false;
}

grpc::Status StatusOf(const google::rpc::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), status.message(),
                      status.SerializeAsString());
}

AttemptResult ResultOf(const shard::AppendResult& result) {
  switch (result.outcome) {
    case shard::AppendResult::Outcome::kCommitted:
      return AttemptResult::kCommitted;
    case shard::AppendResult::Outcome::kUnknown:
      return AttemptResult::kUnknown;
    case shard::AppendResult::Outcome::kRefused:
      break;
  }
  if (result.refusal != shard::AppendRefusal::kNone) return AttemptResult::kRefused;
  switch (result.error) {
    case raft::RaftError::kUnknownTopicOrPartition:
    case raft::RaftError::kNotLeaderOrFollower:
    case raft::RaftError::kBrokerNotAvailable:
      return AttemptResult::kNotLeader;
    case raft::RaftError::kNone:
    case raft::RaftError::kUnsupportedVersion:
    case raft::RaftError::kInvalidRequest:
    case raft::RaftError::kFencedLeaderEpoch:
    case raft::RaftError::kUnknownLeaderEpoch:
    case raft::RaftError::kInvalidVoterKey:
    case raft::RaftError::kThrottled:
    case raft::RaftError::kRequestTimedOut:
      return AttemptResult::kRefused;
  }
  return AttemptResult::kUnknown;
}

CallError GivenUp(const ClientParts& parts, PartitionId partition, bool may_forward) {
  if (parts.shutting_down.load()) {
    return CallError(v1::ERROR_REASON_SHUTTING_DOWN, "this node is shutting down");
  }
  shard::LeaderHint hint = parts.hints.Find(partition);
  // A leader that would not take it, or could not be reached, until the end is no leader. Where
  // forwarding is forbidden, the hint is the answer.
  if (may_forward || hint.leader == parts.self.self) hint.leader.reset();
  return NotLeader(parts, hint);
}

google::rpc::Status ErrorOf(const ClientParts& parts, const shard::AppendResult& result,
                            bool deadline_passed) {
  if (result.outcome == shard::AppendResult::Outcome::kUnknown) {
    return CommitUnknown(result, deadline_passed).ToRpc();
  }
  return RefusalOf(parts, result).Refused().ToRpc();
}

void AppendFlow::Run(ClientParts& parts, const AppendEntry& entry, AppendOptions options,
                     Done done) {
  const std::shared_ptr<AppendFlow> flow(
      new AppendFlow(parts, entry, std::move(options), std::move(done)));
  std::optional<CallError> error = CheckEntry(entry);
  if (error.has_value()) {
    flow->Refuse(*std::move(error));
    return;
  }
  flow->Begin();
}

AppendFlow::AppendFlow(ClientParts& parts, const AppendEntry& entry, AppendOptions options,
                       Done done)
    : parts_(parts), entry_(entry), options_(std::move(options)), done_(std::move(done)) {}

// Looks the topic up anew: it may have been deleted while the flow waited.
void AppendFlow::Begin() {
  if (options_.cancelled()) {
    GiveUp();
    return;
  }
  std::optional<FoundPartition> found =
      FindPartition(parts_.catalog, entry_.topic, *entry_.partition);
  if (!found.has_value()) {
    Refuse(NotFound(parts_.catalog, entry_.topic, *entry_.partition));
    return;
  }
  partition_ = *std::move(found);
  if (partition_.id.topic == kMetadataPartition.topic) {
    // Its leader alone writes it: a record that the nodes cannot read would stop them all.
    Refuse(CallError(v1::ERROR_REASON_INTERNAL_TOPIC,
                     absl::StrCat(entry_.topic, " belongs to the system")));
    return;
  }
  if (!route_.has_value()) {
    const RouteRules rules{parts_.self.self.id, options_.may_forward, !options_.forwarded,
                           entry_.producer != nullptr};
    route_.emplace(rules, partition_.replicas, options_.deadline);
  }
  Do(route_->Begin(Leader(), parts_.clock.Now()));
}

void AppendFlow::Do(const AppendRoute::Next& next) {
  switch (next.step) {
    case AppendRoute::Step::kAppendHere:
      AppendHere();
      return;
    case AppendRoute::Step::kForward:
      Forward(next.target);
      return;
    case AppendRoute::Step::kWait:
      RunAfter(next.wait, [self = shared_from_this()] { self->Begin(); });
      return;
    case AppendRoute::Step::kAnswer:
      Answer();
      return;
    case AppendRoute::Step::kGiveUp:
      GiveUp();
      return;
  }
}

void AppendFlow::AppendHere() {
  auto encoded = EncodeRecords(entry_, parts_.limits, parts_.clock.WallTimeMs());
  if (auto* error = std::get_if<CallError>(&encoded)) {
    Refuse(*std::move(error));
    return;
  }
  shard::AppendCall call;
  call.partition = partition_.id;
  call.draft = std::get<BatchDraft>(std::move(encoded));
  if (entry_.leader_epoch.has_value()) call.leader_epoch = Epoch(*entry_.leader_epoch);
  if (entry_.expected_offset.has_value()) call.expected_offset = Offset(*entry_.expected_offset);
  call.deadline = options_.deadline;
  call.done = [self = shared_from_this()](const shard::AppendResult& result) {
    self->OnAppended(result);
  };
  if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
    Refuse(Throttled("this node has too much to do"));
  }
}

void AppendFlow::OnAppended(const shard::AppendResult& result) {
  if (result.hint.epoch > Epoch(0)) parts_.hints.Note(partition_.id, result.hint);
  if (result.outcome == shard::AppendResult::Outcome::kCommitted) {
    outcome_.kind = AppendOutcome::Kind::kCommitted;
    outcome_.committed.set_base_offset(result.base_offset.value());
    outcome_.committed.set_leader_epoch(result.epoch.value());
    outcome_.committed.set_duplicate(result.duplicate);
    if (result.hint.leader.has_value()) {
      outcome_.committed.set_leader_id(result.hint.leader->id.value());
    }
  } else {
    const bool unknown = result.outcome == shard::AppendResult::Outcome::kUnknown;
    outcome_.kind = unknown ? AppendOutcome::Kind::kUnknown : AppendOutcome::Kind::kRefused;
    outcome_.error = ErrorOf(parts_, result, parts_.clock.Now() >= options_.deadline);
  }
  After(ResultOf(result));
}

void AppendFlow::Forward(NodeId target) {
  const std::shared_ptr<grpc::Channel> channel = parts_.channels.Get(target, ChannelUse::kForward);
  // What is sent into a connection that is not there fails like what was lost on its way. So
  // nothing is sent before it stands: that is known not to be executed.
  if (channel == nullptr || channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
    After(AttemptResult::kNotSent);
    return;
  }
  if (options_.forwarder != nullptr) {
    options_.forwarder->Add(target, channel, entry_,
                            [self = shared_from_this()](const google::rpc::Status& status,
                                                        const v1::AppendResponse& response) {
                              self->OnForwarded(status, response);
                            });
    return;
  }
  v1::AppendRequest request;
  request.set_topic(entry_.topic);
  request.set_partition(*entry_.partition);
  *request.mutable_records() = entry_.records;
  if (entry_.leader_epoch.has_value()) request.set_leader_epoch(*entry_.leader_epoch);
  if (entry_.expected_offset.has_value()) request.set_expected_offset(*entry_.expected_offset);
  if (entry_.producer != nullptr) *request.mutable_producer() = *entry_.producer;
  request.set_forwarded_by(parts_.self.self.id.value());
  request.set_cluster_id(parts_.self.cluster_id);
  const Duration left = std::max<Duration>(options_.deadline - parts_.clock.Now(), Duration(1));
  EncodeDuration(left, request.mutable_timeout());
  StartUnary<v1::AppendRequest, v1::AppendResponse>(
      parts_.calls, channel, "/quorum.v1.LogService/Append", std::move(request), left + kHopSlack,
      [self = shared_from_this()](const grpc::Status& status, const v1::AppendResponse& response) {
        self->OnForwarded(RpcStatusOf(status), response);
      });
}

void AppendFlow::OnForwarded(const google::rpc::Status& status,
                             const v1::AppendResponse& response) {
  if (status.code() == static_cast<int>(grpc::StatusCode::OK)) {
    outcome_.kind = AppendOutcome::Kind::kCommitted;
    outcome_.committed = response;
    After(AttemptResult::kCommitted);
    return;
  }
  outcome_.error = status;
  const bool refused = IsRefused(status);
  outcome_.kind = refused ? AppendOutcome::Kind::kRefused : AppendOutcome::Kind::kUnknown;
  if (!refused) {
    After(AttemptResult::kUnknown);
    return;
  }
  const std::optional<shard::LeaderHint> hint = HintIn(parts_, status);
  if (hint.has_value()) parts_.hints.Note(partition_.id, *hint);
  After(IsElsewhere(status) ? AttemptResult::kNotLeader : AttemptResult::kRefused);
}

void AppendFlow::After(AttemptResult result) {
  if (result == AttemptResult::kUnknown && !unknown_.has_value()) unknown_ = outcome_;
  Do(route_->After(result, Leader(), parts_.clock.Now()));
}

// Nothing was executed: every attempt before this has proved that, or Answer says otherwise.
void AppendFlow::GiveUp() { Refuse(GivenUp(parts_, partition_.id, options_.may_forward)); }

void AppendFlow::Answer() {
  const bool refused = outcome_.kind == AppendOutcome::Kind::kRefused;
  done_(refused && unknown_.has_value() ? *std::move(unknown_) : std::move(outcome_));
}

std::optional<NodeId> AppendFlow::Leader() const {
  const shard::LeaderHint hint = parts_.hints.Find(partition_.id);
  if (!hint.leader.has_value()) return std::nullopt;
  return hint.leader->id;
}

void AppendFlow::Refuse(CallError error) {
  outcome_.kind = AppendOutcome::Kind::kRefused;
  outcome_.error = error.Refused().ToRpc();
  Answer();
}

}  // namespace quorum::transport

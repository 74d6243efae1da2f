#include "service/transport/tail_stream.h"

#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/transport/peer_refusal.h"
#include "service/transport/tail_codec.h"

namespace quorum::transport {
namespace {

// How long a read is parked at most, so that a cancelled stream soon leaves nothing behind.
constexpr Duration kReadMax = std::chrono::seconds(2);
// How often a replica is asked that does not know its watermark yet.
constexpr Duration kDescribePause = std::chrono::milliseconds(50);

CallError ErrorOf(raft::RaftError error) {
  if (error == raft::RaftError::kThrottled) return Throttled("too many readers wait for records");
  return CallError(v1::ERROR_REASON_STORAGE_FAILED,
                   "this node cannot serve its replica of the partition");
}

}  // namespace

TailStream* TailStream::Start(ClientParts& parts, const grpc::ByteBuffer& request) {
  const std::shared_ptr<TailStream> stream(new TailStream(parts));
  stream->self_ = stream;
  stream->Open(request);
  return stream.get();
}

void TailStream::Open(const grpc::ByteBuffer& request) {
  grpc::ByteBuffer bytes = request;
  if (!grpc::SerializationTraits<v1::TailRequest>::Deserialize(&bytes, &request_).ok()) {
    End(CallError(v1::ERROR_REASON_INVALID_REQUEST, "not a TailRequest").ToGrpc());
    return;
  }
  std::optional<CallError> error = RefuseCall(parts_, request_.cluster_id());
  std::optional<TailStart> start;
  if (!error.has_value()) start = CheckTail(request_, &error);
  if (error.has_value()) {
    End(error->ToGrpc());
    return;
  }
  std::optional<FoundPartition> found =
      FindPartition(parts_.catalog, request_.topic(), request_.partition());
  if (!found.has_value()) {
    End(NotFound(parts_.catalog, request_.topic(), request_.partition()).ToGrpc());
    return;
  }
  partition_ = *std::move(found);
  plan_.emplace(*start);
  last_message_ = parts_.clock.Now();
  Describe();
}

void TailStream::Describe() {
  shard::DescribeCall call;
  call.partition = partition_.id;
  call.done = [self = shared_from_this()](const shard::PartitionDescription& description) {
    self->OnDescribed(description);
  };
  if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
    End(Throttled("this node has too much to do").ToGrpc());
  }
}

void TailStream::OnDescribed(const shard::PartitionDescription& description) {
  if (HasEnded()) return;
  if (description.error == raft::RaftError::kUnknownTopicOrPartition) {
    Relay();
    return;
  }
  if (description.error != raft::RaftError::kNone || description.quarantine.has_value()) {
    End(ErrorOf(description.error).ToGrpc());
    return;
  }
  if (plan_->Begin(description)) {
    Read();
    return;
  }
  shard::ReadResult standing;
  standing.high_watermark = description.high_watermark;
  standing.hint = description.hint;
  if (parts_.clock.Now() >= last_message_ + plan_->progress_interval()) {
    // Goes on in OnWriteDone, which finds no position to read from yet.
    SendProgress(standing);
    return;
  }
  RunAfter(kDescribePause, [self = shared_from_this()] {
    if (!self->HasEnded()) self->Describe();
  });
}

void TailStream::Read() {
  shard::ReadCall call;
  call.partition = partition_.id;
  call.from = plan_->next();
  call.max_bytes = parts_.limits.tail_bytes_max;
  const MonoTime now = parts_.clock.Now();
  call.deadline = std::min(
      now + kReadMax,
      last_message_ + std::min<Duration>(plan_->progress_interval(), std::chrono::hours(1)));
  if (seen_.has_value()) {
    call.seen_high_watermark = seen_->exposed;
    call.seen_epoch = seen_->hint.epoch;
  }
  call.done = [self = shared_from_this()](const shard::ReadResult& read) { self->OnRead(read); };
  if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
    End(Throttled("this node has too much to do").ToGrpc());
  }
}

void TailStream::OnRead(const shard::ReadResult& read) {
  if (HasEnded()) return;
  if (parts_.shutting_down.load()) {
    End(CallError(v1::ERROR_REASON_SHUTTING_DOWN, "this node is shutting down").ToGrpc());
    return;
  }
  if (read.error == raft::RaftError::kUnknownTopicOrPartition) {
    // The replica was closed here: with its topic, or because it belongs elsewhere now.
    if (parts_.catalog.FindTopic(partition_.id.topic) == nullptr) {
      End(UnknownTopic(request_.topic()).ToGrpc());
    } else {
      End(ErrorOf(raft::RaftError::kBrokerNotAvailable).ToGrpc());
    }
    return;
  }
  if (read.error != raft::RaftError::kNone) {
    End(ErrorOf(read.error).ToGrpc());
    return;
  }
  if (read.below_log_start) {
    plan_->Reset(read.log_start);
    v1::TailResponse message;
    message.mutable_reset()->set_start_offset(read.log_start.value());
    Send(EncodeTailMessage(message));
    return;
  }
  GoOn(read);
}

void TailStream::GoOn(const shard::ReadResult& read) {
  seen_ = read;
  seen_->batches.clear();
  // The opening, and a change of epoch, are told before the records behind it, which are then read
  // again.
  if (plan_->HasEpochNews(read)) {
    SendProgress(read);
    return;
  }
  const TailRecords records = plan_->Take(read);
  if (!records.batches.empty()) {
    plan_->NoteRecords(read);
    Send(EncodeTailRecords(records, read.high_watermark));
    return;
  }
  const bool due = parts_.clock.Now() >= last_message_ + plan_->progress_interval();
  if (due || plan_->HasCaughtUp(read)) {
    SendProgress(read);
    return;
  }
  if (plan_->ended()) {
    End(grpc::Status::OK);
    return;
  }
  Read();
}

void TailStream::Relay() {
  const bool forwarded = request_.has_forwarded_by();
  const shard::LeaderHint hint = parts_.hints.Find(partition_.id);
  if (forwarded || request_.no_forward()) {
    // Without a hint, NotLeader would say that no leader came in time; nobody has waited for one.
    const CallError error =
        hint.leader.has_value()
            ? NotLeader(parts_, hint)
            : CallError(v1::ERROR_REASON_NOT_LEADER, "this node has no replica of the partition");
    End(error.ToGrpc());
    return;
  }
  std::vector<NodeId> targets;
  if (hint.leader.has_value() && hint.leader->id != parts_.self.self.id) {
    targets.push_back(hint.leader->id);
  }
  for (const NodeId replica : partition_.replicas) {
    if (replica != parts_.self.self.id) targets.push_back(replica);
  }
  const auto relay = std::make_shared<TailRelay>(
      parts_, request_, std::move(targets),
      [self = shared_from_this()](grpc::ByteBuffer message) { self->Send(std::move(message)); },
      [self = shared_from_this()](const grpc::Status& status) { self->End(status); });
  {
    MutexLock lock(&mutex_);
    if (ended_) return;
    relay_ = relay;
  }
  relay->Start();
}

void TailStream::SendProgress(const shard::ReadResult& read) {
  v1::TailResponse message;
  *message.mutable_progress() = plan_->MakeProgress(read);
  plan_->NoteProgress(message.progress());
  Send(EncodeTailMessage(message));
}

void TailStream::Send(grpc::ByteBuffer message) {
  {
    MutexLock lock(&mutex_);
    if (ended_) return;
    writing_ = true;
  }
  message_ = std::move(message);
  last_message_ = parts_.clock.Now();
  StartWrite(&message_);
}

void TailStream::OnWriteDone(bool ok) {
  std::optional<grpc::Status> status;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    status = status_;
    if (status.has_value()) ended_ = true;
  }
  if (status.has_value()) {
    Finish(*status);
    return;
  }
  if (!ok) {
    End(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
    return;
  }
  const std::shared_ptr<TailRelay> relay = GetRelay();
  if (relay != nullptr) {
    relay->Next();
  } else if (!plan_->begun()) {
    Describe();
  } else if (plan_->ended()) {
    End(grpc::Status::OK);
  } else if (seen_.has_value() && plan_->HasCaughtUp(*seen_)) {
    SendProgress(*seen_);
  } else {
    Read();
  }
}

void TailStream::OnCancel() {
  End(grpc::Status(grpc::StatusCode::CANCELLED, "the reader has gone"));
}

void TailStream::OnDone() {
  // The relay refers to this stream.
  std::shared_ptr<TailRelay> relay = GetRelay();
  if (relay != nullptr) relay->Cancel();
  {
    MutexLock lock(&mutex_);
    relay_.reset();
  }
  self_.reset();
}

std::shared_ptr<TailRelay> TailStream::GetRelay() {
  MutexLock lock(&mutex_);
  return relay_;
}

// A status may not overtake the message that is being written.
void TailStream::End(const grpc::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (ended_ || status_.has_value()) return;
    if (writing_) {
      status_ = status;
      return;
    }
    ended_ = true;
  }
  Finish(status);
}

bool TailStream::HasEnded() {
  MutexLock lock(&mutex_);
  return ended_ || status_.has_value();
}

}  // namespace quorum::transport

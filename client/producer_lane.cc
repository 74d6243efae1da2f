#include "client/producer_lane.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/calls.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

using State = ProducerBatch::State;
using AppendCall = UnaryCall<v1::AppendRequest, v1::AppendResponse>;
using InitCall = UnaryCall<v1::InitProducerRequest, v1::InitProducerResponse>;

// The wait before a batch is resent for the second time in a row; it doubles, so that answers that
// make no sense do not keep a processor busy.
constexpr Duration kResendWaitFirst = std::chrono::milliseconds(5);
constexpr int kResendDoublingsMax = 7;
// Before the producer is asked for anew.
constexpr Duration kInitWait = std::chrono::milliseconds(50);

Error DeadlineError() {
  Error error;
  error.code = google::rpc::DEADLINE_EXCEEDED;
  error.message = "no answer that decides the append came before its deadline";
  return error;
}

Error EndedError(const std::string& name) {
  Error error =
      NotSentError(absl::StrCat("producer ", name,
                                " has ended, because an attempt of an append was given up with an "
                                "unknown outcome: make a new one"));
  error.code = google::rpc::FAILED_PRECONDITION;
  return error;
}

}  // namespace

ProducerLane::ProducerLane(ClientCore& core, PartitionName partition,
                           const ProducerOptions& options, std::shared_ptr<ProducerBudget> budget)
    : core_(core),
      partition_(std::move(partition)),
      options_(options),
      budget_(std::move(budget)) {}

void ProducerLane::Add(PendingAppendPointer append) {
  if (phase_ == Phase::kEnded) return Decide(append, Refused{*error_});
  append->timer =
      core_.loop.RunAfter(append->deadline - core_.loop.Now(),
                          [self = shared_from_this(), append] { self->OnDeadline(append); });
  queue_.push_back(std::move(append));
  SchedulePump();
}

void ProducerLane::Init(InitDone done) {
  if (phase_ == Phase::kEnded) return done(*error_);
  if (phase_ == Phase::kReady || phase_ == Phase::kDraining) return done(identity_);
  init_waiters_.push_back(std::move(done));
  if (phase_ == Phase::kNew) StartInit();
}

void ProducerLane::Close() {
  closed_ = true;
  if (phase_ != Phase::kEnded) End(NotSentError("the producer or its client has ended"));
  // Otherwise a producer that is gone could still shut out its successor of the same name.
  if (const std::shared_ptr<CallFlow> question = init_call_.lock()) question->Cancel();
  const std::deque<ProducerBatchPointer> batches = outstanding_;
  for (const ProducerBatchPointer& batch : batches) {
    const std::shared_ptr<CallFlow> call = batch->call.lock();
    if (call != nullptr) call->Cancel();
  }
  Advance();
}

void ProducerLane::SchedulePump(Duration delay) {
  if (pump_scheduled_) return;
  pump_scheduled_ = true;
  core_.loop.RunAfter(delay, [self = shared_from_this()] {
    self->pump_scheduled_ = false;
    self->Pump();
  });
}

void ProducerLane::Pump() {
  while (!queue_.empty() && queue_.front()->decided) queue_.pop_front();
  if (queue_.empty()) return;
  if (phase_ == Phase::kNew) return StartInit();
  while (MaySend()) {
    const ProducerBatchPointer batch = TakeBatch(options_.batch_bytes_max, &queue_);
    if (batch == nullptr) return;
    v1::ProducerStamp* stamp = batch->request.mutable_producer();
    stamp->set_producer_id(identity_.producer_id);
    stamp->set_producer_epoch(identity_.epoch);
    stamp->set_base_sequence(next_sequence_);
    next_sequence_ = batch->next_sequence();
    batch->number = sent_++;
    outstanding_.push_back(batch);
    StartCall(batch);
  }
}

void ProducerLane::StartInit() {
  phase_ = Phase::kInit;
  v1::InitProducerRequest request;
  request.set_name(options_.name);
  if (named()) {
    request.set_topic(partition_.topic);
    request.set_partition(partition_.index);
  }
  CallOptions call;
  // Once the first append is out of time, the next one asks on.
  call.timeout = queue_.empty() ? options_.timeout : queue_.front()->deadline - core_.loop.Now();
  call.on_retry = options_.on_retry;
  auto steps = StepsOf<v1::InitProducerRequest, v1::InitProducerResponse>(
      [self = shared_from_this()](const Result<v1::InitProducerResponse>& result) {
        self->OnInit(result);
      });
  steps.set_timeout = &SetTimeout<v1::InitProducerRequest>;
  CallSettings settings{CallKind::kIdempotent, std::nullopt, std::move(call)};
  if (named()) settings.partition = partition_;
  const auto question =
      std::make_shared<InitCall>(core_, std::move(settings), std::move(request), std::move(steps));
  init_call_ = question;
  question->Start();
}

void ProducerLane::OnInit(const Result<v1::InitProducerResponse>& result) {
  if (phase_ == Phase::kEnded) return;
  std::optional<Error> error;
  if (!result.ok()) {
    error = result.error();
  } else if (!result.value().has_producer_id() || !result.value().has_producer_epoch()) {
    error.emplace();
    error->code = google::rpc::INTERNAL;
    error->message = "the server's answer names no producer";
  }
  std::vector<InitDone> waiters;
  waiters.swap(init_waiters_);
  if (error.has_value()) {
    phase_ = Phase::kNew;
    error_ = *error;
    // What may pass is asked for again as long as an append waits for it.
    const bool again = RetryPolicy::MayRepeat(CallKind::kIdempotent, *error) && !core_.closing;
    std::deque<PendingAppendPointer> refused;
    if (!again) refused.swap(queue_);
    for (const PendingAppendPointer& append : refused) Decide(append, Refused{*error});
    for (const InitDone& done : waiters) done(*error);
    return SchedulePump(kInitWait);
  }
  const v1::InitProducerResponse& answer = result.value();
  identity_ = {answer.producer_id(), answer.producer_epoch(), std::nullopt};
  if (answer.has_expiry()) identity_.expiry = std::chrono::seconds(answer.expiry().seconds());
  next_sequence_ = 0;
  error_.reset();
  phase_ = Phase::kReady;
  for (const InitDone& done : waiters) done(identity_);
  Pump();
}

void ProducerLane::StartCall(const ProducerBatchPointer& batch) {
  batch->state = State::kCalling;
  batch->began_first = batch == outstanding_.front();
  CallSettings settings{CallKind::kIdempotent, partition_, CallOptions()};
  settings.options.timeout = batch->deadline - core_.loop.Now();
  settings.options.on_retry = options_.on_retry;
  auto steps = StepsOf<v1::AppendRequest, v1::AppendResponse>(
      [self = shared_from_this(), batch](Result<v1::AppendResponse> result) {
        self->OnAnswer(batch, std::move(result));
      });
  steps.set_timeout = &SetTimeout<v1::AppendRequest>;
  const auto call =
      std::make_shared<AppendCall>(core_, std::move(settings), batch->request, std::move(steps));
  batch->call = call;
  call->Start();
}

void ProducerLane::OnAnswer(const ProducerBatchPointer& batch, Result<v1::AppendResponse> result) {
  if (!result.ok()) return OnFailed(batch, result.error());
  AppendOutcome outcome = OutcomeOf(result.value());
  const Committed* committed = std::get_if<Committed>(&outcome);
  // An answer without an offset proves nothing.
  if (committed == nullptr) return OnFailed(batch, std::get_if<Unknown>(&outcome)->error);
  Learn(partition_, result.value(), &core_.cache);
  RefreshNodes(core_, partition_);
  resent_ = 0;
  DecideAll(batch, [committed](int64_t records_before) {
    Committed own = *committed;
    own.base_offset = own.base_offset + records_before;
    return own;
  });
  Advance();
}

void ProducerLane::OnFailed(const ProducerBatchPointer& batch, Error error) {
  error.earlier_unproven |= batch->unproven;
  batch->unproven = error.earlier_unproven || !ProvesRefusal(error);
  batch->error = std::move(error);
  const bool out_of_order =
      ProvesRefusal(batch->error) && batch->error.reason == v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE;
  if (IsBehindGap(*batch)) {
    NoteAbsent(batch);
  } else if (out_of_order && !batch->began_first) {
    batch->state = State::kParked;
  } else {
    Conclude(batch);
  }
  Advance();
}

void ProducerLane::Conclude(const ProducerBatchPointer& batch) {
  const Error error = batch->error;
  FailedBatch failed{named(), batch->appends.size(), batch->base_sequence()};
  if (batch->request.has_expected_offset()) {
    failed.expected_offset = Offset(batch->request.expected_offset());
  }
  const ProducerVerdict verdict = JudgeFailure(error, failed);
  if (verdict.resync == Resync::kEnd && phase_ != Phase::kEnded) {
    const bool judged = error.origin == Error::Origin::kServer && ProvesRefusal(error);
    End(judged ? error : EndedError(options_.name));
  }
  switch (verdict.fate) {
    case BatchFate::kResend:
      if (!verdict.apart) ++resent_;
      for (const PendingAppendPointer& append : batch->appends) append->alone |= verdict.apart;
      NoteAbsent(batch);
      break;
    case BatchFate::kRefused:
      NoteGap(*batch);
      DecideAll(batch, [&error](int64_t) { return Refused{error}; });
      break;
    case BatchFate::kUnknown:
      DecideAll(batch, [&error](int64_t) { return Unknown{error}; });
      break;
  }
  Drain(verdict.resync);
}

void ProducerLane::Advance() {
  // A batch before has no outcome.
  bool open = false;
  const std::deque<ProducerBatchPointer> batches = outstanding_;
  for (const ProducerBatchPointer& batch : batches) {
    if (batch->state == State::kCalling) open = true;
    if (batch->state != State::kParked) continue;
    if (IsBehindGap(*batch)) {
      NoteAbsent(batch);
    } else if (open) {
      continue;
    } else if (phase_ != Phase::kReady && !batch->unproven) {
      NoteAbsent(batch);
    } else if (closed_) {
      Conclude(batch);
    } else {
      StartCall(batch);
      open = batch->state != State::kDecided;
    }
  }
  const bool drained = std::all_of(outstanding_.begin(), outstanding_.end(), [](const auto& batch) {
    return batch->state == State::kAbsent;
  });
  if (drained && phase_ != Phase::kReady) OnDrained();
  if (phase_ == Phase::kReady && !queue_.empty()) SchedulePump();
}

bool ProducerLane::IsBehindGap(const ProducerBatch& batch) const {
  return gap_.has_value() && batch.base_sequence() > *gap_;
}

void ProducerLane::NoteAbsent(const ProducerBatchPointer& batch) {
  batch->state = State::kAbsent;
  floating_ |= batch->unproven;
  NoteGap(*batch);
  Drain(Resync::kReuse);
}

void ProducerLane::NoteGap(const ProducerBatch& batch) {
  gap_ = std::min(gap_.value_or(batch.base_sequence()), batch.base_sequence());
}

void ProducerLane::Drain(Resync resync) {
  resync_ = std::max(resync_, resync);
  if (phase_ == Phase::kReady) phase_ = Phase::kDraining;
}

void ProducerLane::OnDrained() {
  PutBack(outstanding_, &queue_);
  outstanding_.clear();
  if (phase_ == Phase::kEnded) return End(*error_);
  if (phase_ != Phase::kDraining) return;
  if (floating_ && resync_ == Resync::kReuse) resync_ = named() ? Resync::kEnd : Resync::kRaise;
  const bool last_epoch = identity_.epoch == std::numeric_limits<int32_t>::max();
  if (resync_ == Resync::kRaise && last_epoch) resync_ = Resync::kReinit;
  phase_ = Phase::kReady;
  switch (resync_) {
    case Resync::kNone:
      break;
    case Resync::kReuse:
      CHECK(gap_.has_value()) << "nothing is absent";
      next_sequence_ = *gap_;
      break;
    case Resync::kRaise:
      ++identity_.epoch;
      next_sequence_ = 0;
      break;
    case Resync::kReinit:
      phase_ = Phase::kNew;
      break;
    case Resync::kEnd:
      End(EndedError(options_.name));
      break;
  }
  resync_ = Resync::kNone;
  gap_.reset();
  floating_ = false;
  const int doublings = std::min(resent_ - 2, kResendDoublingsMax);
  SchedulePump(doublings < 0 ? Duration(0) : kResendWaitFirst * (1 << doublings));
}

void ProducerLane::End(Error error) {
  phase_ = Phase::kEnded;
  error_ = std::move(error);
  std::vector<InitDone> waiters;
  waiters.swap(init_waiters_);
  for (const InitDone& done : waiters) done(*error_);
  std::deque<PendingAppendPointer> refused;
  refused.swap(queue_);
  for (const PendingAppendPointer& append : refused) Decide(append, Refused{*error_});
}

void ProducerLane::DecideAll(const ProducerBatchPointer& batch,
                             const std::function<AppendOutcome(int64_t)>& outcome) {
  batch->state = State::kDecided;
  outstanding_.erase(std::remove(outstanding_.begin(), outstanding_.end(), batch),
                     outstanding_.end());
  batch->request.clear_records();
  for (const PendingAppendPointer& append : batch->appends) append->share.reset();
  int64_t records_before = 0;
  for (const PendingAppendPointer& append : batch->appends) {
    Decide(append, outcome(records_before));
    records_before += static_cast<int64_t>(append->record_count);
  }
}

void ProducerLane::Decide(const PendingAppendPointer& append, AppendOutcome outcome) {
  if (append->decided) return;
  append->decided = true;
  core_.loop.CancelTimer(append->timer);
  const Producer::Done done = std::move(append->done);
  append->done = nullptr;
  done(std::move(outcome));
  budget_->End(append->ticket);
}

bool ProducerLane::IsAbsent(const PendingAppendPointer& append) const {
  return std::any_of(outstanding_.begin(), outstanding_.end(), [&append](const auto& batch) {
    const auto& appends = batch->appends;
    return batch->state == State::kAbsent &&
           std::find(appends.begin(), appends.end(), append) != appends.end();
  });
}

void ProducerLane::OnDeadline(const PendingAppendPointer& append) {
  if (append->decided) return;
  const auto queued = std::find(queue_.begin(), queue_.end(), append);
  if (queued != queue_.end()) {
    queue_.erase(queued);
  } else if (!IsAbsent(append)) {
    return Decide(append, Unknown{DeadlineError()});
  }
  Error error = NotSentError("it could not be sent before its deadline");
  if (error_.has_value()) error = *error_;
  Decide(append, Refused{std::move(error)});
}

}  // namespace quorum::client

#include "client/call_flow.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/deadline.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

Error CancelledError() {
  Error error;
  error.code = google::rpc::CANCELLED;
  error.message = "the client gave the call up";
  return error;
}

}  // namespace

CallFlow::CallFlow(ClientCore& core, CallSettings settings)
    : core_(core), settings_(std::move(settings)) {}

void CallFlow::Start() {
  core_.flows.insert(shared_from_this());
  retry_.emplace(settings_.kind, core_.options.retry, core_.prng.Fork("call"));
  deadline_ = DeadlineAfter(core_.loop.Now(), settings_.options.timeout);
  if (core_.closing) {
    const Error error = NotSentError("the client is closing");
    return Conclude(&error);
  }
  BeginRound();
}

void CallFlow::Cancel() {
  if (state_ == State::kDone || cancelled_) return;
  cancelled_ = true;
  if (state_ == State::kSending) return CancelSend();
  core_.loop.CancelTimer(timer_);
  Error error = unproven_ ? CancelledError() : NotSentError("the client gave the call up");
  error.attempts = attempts_;
  error.earlier_unproven = unproven_;
  Conclude(&error);
}

void CallFlow::BeginRound() {
  state_ = State::kConnecting;
  candidates_ = core_.cache.Candidates(settings_.partition, core_.loop.Now());
  next_candidate_ = 0;
  TryCandidate();
}

void CallFlow::TryCandidate() {
  // What could not be sent after that is not waited for either.
  const Duration left = Left() - SendTimeMin();
  if (next_candidate_ == candidates_.size() || left <= Duration(0)) {
    return AttemptFailed(NotSentError(
        absl::StrCat("no node could be reached at ", absl::StrJoin(candidates_, ", "))));
  }
  address_ = candidates_[next_candidate_++];
  core_.pool.Connect(address_, std::min(left, core_.options.connect_timeout),
                     [self = shared_from_this()](NodeStubs* node) { self->OnConnected(node); });
}

void CallFlow::OnConnected(NodeStubs* node) {
  // Cancelled meanwhile.
  if (state_ == State::kDone) return;
  if (node == nullptr) {
    core_.cache.NoteUnreachable(address_, core_.loop.Now() + core_.options.avoid_time);
    return TryCandidate();
  }
  core_.cache.NoteReachable(address_);
  if (Left() < SendTimeMin()) {
    return AttemptFailed(NotSentError("too little time was left to send it"));
  }
  state_ = State::kSending;
  ++attempts_;
  Send(*node);
}

void CallFlow::AttemptFailed(Error error) {
  CHECK(state_ != State::kDone) << "an attempt ended twice";
  error.attempts = attempts_;
  error.earlier_unproven = unproven_;
  if (!ProvesRefusal(error)) unproven_ = true;
  LearnFrom(error);
  if (cancelled_) return Conclude(&error);
  const std::optional<Duration> delay = retry_->AfterFailure(error, Left());
  if (error.origin == Error::Origin::kServer) judged_ = error;
  if (!delay.has_value()) {
    if (error.origin != Error::Origin::kNotSent || !judged_.has_value()) return Conclude(&error);
    judged_->earlier_unproven = unproven_;
    return Conclude(&*judged_);
  }
  state_ = State::kWaiting;
  if (settings_.options.on_retry) settings_.options.on_retry(RetryNotice{error, *delay});
  timer_ = core_.loop.RunAfter(*delay, [self = shared_from_this()] { self->BeginRound(); });
}

Duration CallFlow::SendTimeMin() const {
  if (settings_.kind == CallKind::kRead) return Duration(0);
  return std::min<Duration>(core_.options.retry.write_time_min, settings_.options.timeout / 2);
}

void CallFlow::Progressed() {
  retry_->Reset();
  deadline_ = DeadlineAfter(core_.loop.Now(), settings_.options.timeout);
}

void CallFlow::Conclude(const Error* error) {
  state_ = State::kDone;
  const std::shared_ptr<CallFlow> self = shared_from_this();
  core_.flows.erase(self);
  Finish(error);
  if (core_.closing && core_.flows.empty() && core_.drained) core_.drained();
}

void CallFlow::LearnFrom(const Error& error) {
  if (error.origin == Error::Origin::kNotSent) return;
  const LeaderHint hint = error.leader();
  const bool elsewhere = RetryPolicy::MayRepeat(CallKind::kRead, error) ||
                         RetryPolicy::MayRepeat(settings_.kind, error);
  if (settings_.partition.has_value() && error.reason != v1::ERROR_REASON_FENCED_LEADER_EPOCH) {
    if (hint.node.has_value()) {
      core_.cache.NoteLeader(*settings_.partition, *hint.node, hint.epoch, hint.address);
    } else if (elsewhere) {
      core_.cache.ForgetLeader(*settings_.partition);
    }
  }
  // Whatever another node might do better is asked of another node first.
  if (!hint.node.has_value() && elsewhere) {
    core_.cache.NoteUnreachable(address_, core_.loop.Now() + core_.options.avoid_time);
  }
}

}  // namespace quorum::client

// RetryPolicy: whether a failed attempt is made again, and after how long. Pure: it is told how
// much time is left and reads no clock.
//
// What may be repeated depends on what a repetition could do:
//   kRead    changes nothing, so lost connections and time-outs of one attempt are retried too.
//   kChange  an administrative change: only after our server says that it did not do it.
//   kIdempotent
//            an append with a producer id and a sequence, which the log takes once, and the
//            question for a producer: after unknown outcomes too.
// In each kind, only errors are retried that another moment or another node can cure.
//
// Thread: a plain value of one call.

#pragma once

#include <optional>

#include "client/error.h"
#include "service/base/prng.h"
#include "service/base/time.h"

namespace quorum::client {

enum class CallKind { kRead, kChange, kIdempotent };

struct RetrySettings {
  // The n-th wait in a row is drawn from the upper half of [0, min(first * 2^n, max)].
  Duration backoff_first = std::chrono::milliseconds(20);
  Duration backoff_max = std::chrono::seconds(1);
  // How many leader hints in a row are followed at once. Two nodes with old knowledge may point at
  // each other, so that the next one waits like any other failure.
  int hint_hops_max = 2;
  // An append or a change is not sent with less time than this to its deadline: a refusal that is
  // known would most likely become an unknown outcome.
  Duration write_time_min = std::chrono::milliseconds(200);
};

class RetryPolicy {
 public:
  RetryPolicy(CallKind kind, const RetrySettings& settings, Prng prng)
      : kind_(kind), settings_(settings), prng_(prng) {}

  // After a failed attempt, with `left` to the call's deadline: how long to wait before the next
  // one, always less than `left`; empty to give up.
  std::optional<Duration> AfterFailure(const Error& error, Duration left);

  // After an attempt that got somewhere, such as a stream that delivered: the next failure is the
  // first again.
  void Reset();

  // Whether another attempt is allowed and could help, time aside.
  static bool MayRepeat(CallKind kind, const Error& error);

 private:
  Duration Backoff();

  const CallKind kind_;
  const RetrySettings settings_;
  Prng prng_;
  int failures_ = 0;
  int hint_hops_ = 0;
};

}  // namespace quorum::client

#include "client/retry_policy.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace quorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Error ServerError(v1::ErrorReason reason, bool refused = true) {
  Error error;
  error.origin = Error::Origin::kServer;
  error.reason = reason;
  if (refused) error.metadata["outcome"] = "refused";
  return error;
}

Error TransportError(google::rpc::Code code) {
  Error error;
  error.code = code;
  return error;
}

RetryPolicy PolicyOf(CallKind kind) { return RetryPolicy(kind, RetrySettings(), Prng(7)); }

std::set<v1::ErrorReason> RepeatedReasons(CallKind kind) {
  std::set<v1::ErrorReason> repeated;
  for (int value = v1::ErrorReason_MIN; value <= v1::ErrorReason_MAX; ++value) {
    const auto reason = static_cast<v1::ErrorReason>(value);
    if (RetryPolicy::MayRepeat(kind, ServerError(reason))) repeated.insert(reason);
  }
  return repeated;
}

TEST(RetryPolicyTest, EachKind_IsRepeatedForItsReasons) {
  const std::set<v1::ErrorReason> transient = {
      v1::ERROR_REASON_NOT_LEADER, v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
      v1::ERROR_REASON_THROTTLED, v1::ERROR_REASON_SHUTTING_DOWN};
  EXPECT_EQ(RepeatedReasons(CallKind::kChange), transient);
  std::set<v1::ErrorReason> read = transient;
  read.insert(v1::ERROR_REASON_STORAGE_FAILED);
  EXPECT_EQ(RepeatedReasons(CallKind::kRead), read);
  std::set<v1::ErrorReason> idempotent = transient;
  idempotent.insert({v1::ERROR_REASON_COMMIT_UNKNOWN, v1::ERROR_REASON_INTERNAL,
                     v1::ERROR_REASON_REQUEST_TIMED_OUT});
  EXPECT_EQ(RepeatedReasons(CallKind::kIdempotent), idempotent);
}

TEST(RetryPolicyTest, LostConnections_AreRepeatedForAllButChanges) {
  for (int code = 1; code <= 16; ++code) {
    const auto gone = static_cast<google::rpc::Code>(code);
    const bool lost = gone == google::rpc::UNAVAILABLE || gone == google::rpc::DEADLINE_EXCEEDED ||
                      gone == google::rpc::CANCELLED;
    EXPECT_FALSE(RetryPolicy::MayRepeat(CallKind::kChange, TransportError(gone))) << code;
    EXPECT_EQ(RetryPolicy::MayRepeat(CallKind::kRead, TransportError(gone)), lost) << code;
    EXPECT_EQ(RetryPolicy::MayRepeat(CallKind::kIdempotent, TransportError(gone)), lost) << code;
  }
}

TEST(RetryPolicyTest, NothingSent_IsRepeatedForAll) {
  for (const CallKind kind : {CallKind::kRead, CallKind::kChange, CallKind::kIdempotent}) {
    EXPECT_TRUE(RetryPolicy::MayRepeat(kind, NotSentError("")));
  }
}

TEST(RetryPolicyTest, Backoff_DoublesUpToItsBoundWithJitter) {
  RetryPolicy policy = PolicyOf(CallKind::kIdempotent);
  const Error error = ServerError(v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  for (const int step_ms : {20, 40, 80, 160, 320, 640, 1000, 1000, 1000}) {
    const auto delay = policy.AfterFailure(error, seconds(60));
    ASSERT_TRUE(delay.has_value());
    EXPECT_GE(*delay, milliseconds(step_ms) / 2);
    EXPECT_LT(*delay, milliseconds(step_ms));
  }
  policy.Reset();
  EXPECT_LT(*policy.AfterFailure(error, seconds(60)), milliseconds(20));
}

TEST(RetryPolicyTest, TwoCalls_WaitForDifferentTimes) {
  RetryPolicy a(CallKind::kRead, RetrySettings(), Prng(1));
  RetryPolicy b(CallKind::kRead, RetrySettings(), Prng(2));
  EXPECT_NE(a.AfterFailure(NotSentError(""), seconds(9)),
            b.AfterFailure(NotSentError(""), seconds(9)));
}

TEST(RetryPolicyTest, LeaderHint_IsFollowedAtOnceButNotForEver) {
  RetryPolicy policy = PolicyOf(CallKind::kIdempotent);
  Error error = ServerError(v1::ERROR_REASON_NOT_LEADER);
  error.metadata["leader_id"] = "2";
  EXPECT_EQ(policy.AfterFailure(error, seconds(9)), Duration(0));
  EXPECT_EQ(policy.AfterFailure(error, seconds(9)), Duration(0));
  EXPECT_GT(*policy.AfterFailure(error, seconds(9)), Duration(0));
  EXPECT_EQ(policy.AfterFailure(error, seconds(9)), Duration(0));
  error.metadata.erase("leader_id");
  EXPECT_GT(*policy.AfterFailure(error, seconds(9)), Duration(0));
}

TEST(RetryPolicyTest, ServersWait_IsKeptOrGivenUp) {
  RetryPolicy policy = PolicyOf(CallKind::kIdempotent);
  Error error = ServerError(v1::ERROR_REASON_THROTTLED);
  error.retry_delay = seconds(3);
  EXPECT_EQ(policy.AfterFailure(error, seconds(4)), seconds(3));
  EXPECT_FALSE(policy.AfterFailure(error, seconds(3)).has_value());
}

TEST(RetryPolicyTest, LittleTimeLeft_ShortensTheWaitAndEndsIt) {
  RetryPolicy policy = PolicyOf(CallKind::kRead);
  for (int i = 0; i < 10; ++i) policy.AfterFailure(NotSentError(""), seconds(60)).value();
  EXPECT_LE(*policy.AfterFailure(NotSentError(""), milliseconds(100)), milliseconds(50));
  EXPECT_FALSE(policy.AfterFailure(NotSentError(""), milliseconds(5)).has_value());
  EXPECT_FALSE(policy.AfterFailure(NotSentError(""), -seconds(1)).has_value());
}

TEST(RetryPolicyTest, LittleTimeLeft_SendsNoWrite) {
  const Error error = ServerError(v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
  const Duration time_min = RetrySettings().write_time_min;
  for (const CallKind kind : {CallKind::kChange, CallKind::kIdempotent}) {
    RetryPolicy policy = PolicyOf(kind);
    EXPECT_TRUE(policy.AfterFailure(error, time_min + milliseconds(1)).has_value());
    EXPECT_FALSE(policy.AfterFailure(error, time_min).has_value());
  }
}

}  // namespace
}  // namespace quorum::client

#include "client/producer_verdict.h"

#include <gtest/gtest.h>

namespace quorum::client {
namespace {

Error Refusal(v1::ErrorReason reason, bool earlier_unproven = false) {
  Error error;
  error.origin = Error::Origin::kServer;
  error.reason = reason;
  error.metadata["outcome"] = "refused";
  error.earlier_unproven = earlier_unproven;
  return error;
}

struct Case {
  const char* name;
  Error error;
  BatchFate anonymous_fate;
  Resync anonymous_resync;
  BatchFate named_fate;
  Resync named_resync;
};

TEST(ProducerVerdictTest, EachFailure_HasItsVerdict) {
  Error lost;
  lost.code = google::rpc::UNAVAILABLE;
  Error unknown = Refusal(v1::ERROR_REASON_COMMIT_UNKNOWN);
  unknown.metadata.clear();
  const auto refused = BatchFate::kRefused;
  const auto no_word = BatchFate::kUnknown;
  const auto resend = BatchFate::kResend;
  const Case cases[] = {
      {"lost connection", lost, no_word, Resync::kRaise, no_word, Resync::kEnd},
      {"commit unknown", unknown, no_word, Resync::kRaise, no_word, Resync::kEnd},
      {"nothing sent", NotSentError("no"), refused, Resync::kReuse, refused, Resync::kReuse},
      {"no leader", Refusal(v1::ERROR_REASON_LEADER_NOT_AVAILABLE), refused, Resync::kReuse,
       refused, Resync::kReuse},
      {"no leader after a lost attempt", Refusal(v1::ERROR_REASON_LEADER_NOT_AVAILABLE, true),
       no_word, Resync::kRaise, no_word, Resync::kEnd},
      {"mismatch", Refusal(v1::ERROR_REASON_OFFSET_MISMATCH), refused, Resync::kReuse, refused,
       Resync::kReuse},
      {"mismatch after a lost attempt", Refusal(v1::ERROR_REASON_OFFSET_MISMATCH, true), no_word,
       Resync::kRaise, no_word, Resync::kEnd},
      {"out of order", Refusal(v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE), resend, Resync::kRaise,
       refused, Resync::kReuse},
      {"out of order after a lost attempt", Refusal(v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE, true),
       no_word, Resync::kRaise, no_word, Resync::kEnd},
      {"not known", Refusal(v1::ERROR_REASON_UNKNOWN_PRODUCER), resend, Resync::kReinit, refused,
       Resync::kEnd},
      {"not known after a lost attempt", Refusal(v1::ERROR_REASON_UNKNOWN_PRODUCER, true), no_word,
       Resync::kReinit, no_word, Resync::kEnd},
      {"fenced", Refusal(v1::ERROR_REASON_PRODUCER_FENCED), resend, Resync::kReinit, refused,
       Resync::kEnd},
      {"fenced after a lost attempt", Refusal(v1::ERROR_REASON_PRODUCER_FENCED, true), no_word,
       Resync::kReinit, no_word, Resync::kEnd},
  };
  for (const Case& one : cases) {
    const ProducerVerdict anonymous = JudgeFailure(one.error, FailedBatch{/*named=*/false});
    EXPECT_EQ(anonymous.fate, one.anonymous_fate) << one.name;
    EXPECT_EQ(anonymous.resync, one.anonymous_resync) << one.name;
    const ProducerVerdict named = JudgeFailure(one.error, FailedBatch{/*named=*/true});
    EXPECT_EQ(named.fate, one.named_fate) << one.name;
    EXPECT_EQ(named.resync, one.named_resync) << one.name;
  }
}

TEST(ProducerVerdictTest, CommittedRecordInTheWay_RefusesTheLostAttemptsToo) {
  Error error = Refusal(v1::ERROR_REASON_OFFSET_MISMATCH, /*earlier_unproven=*/true);
  FailedBatch batch;
  batch.expected_offset = Offset(7);
  error.metadata["log_end"] = "8";
  EXPECT_EQ(JudgeFailure(error, batch).fate, BatchFate::kRefused);
  // The log may reach it when the lost attempt arrives.
  for (const char* end : {"7", "3", "", "x"}) {
    error.metadata["log_end"] = end;
    EXPECT_EQ(JudgeFailure(error, batch).fate, BatchFate::kUnknown) << end;
  }
}

TEST(ProducerVerdictTest, SequenceThatTheLogHasPassed_IsNoRefusal) {
  Error error = Refusal(v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE);
  FailedBatch batch;
  batch.base_sequence = 5;
  error.metadata["expected_sequence"] = "5";
  EXPECT_EQ(JudgeFailure(error, batch).fate, BatchFate::kResend);
  error.metadata["expected_sequence"] = "6";
  EXPECT_EQ(JudgeFailure(error, batch).fate, BatchFate::kUnknown);
}

TEST(ProducerVerdictTest, BadRecordAmongSeveralAppends_IsFoundByParting) {
  for (const v1::ErrorReason reason :
       {v1::ERROR_REASON_INVALID_REQUEST, v1::ERROR_REASON_RECORD_TOO_LARGE}) {
    const ProducerVerdict several = JudgeFailure(Refusal(reason), FailedBatch{false, 2});
    EXPECT_EQ(several.fate, BatchFate::kResend);
    EXPECT_TRUE(several.apart);
    EXPECT_FALSE(JudgeFailure(Refusal(reason), FailedBatch{false, 1}).apart);
  }
}

}  // namespace
}  // namespace quorum::client

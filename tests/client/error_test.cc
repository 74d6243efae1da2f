// What statuses prove: the rule that every client must follow.

#include "client/error.h"

#include <gtest/gtest.h>

#include <string>

#include "client/append_outcome.h"
#include "client/quorumctl/exit_code.h"
#include "google/rpc/error_details.pb.h"

namespace quorum::client {
namespace {

using quorumctl::ExitCode;
using quorumctl::ExitCodeOf;

struct Info {
  std::string domain = kErrorDomain;
  std::string reason = "NOT_LEADER";
  std::string outcome = "refused";
};

google::rpc::Status StatusOf(int code, const Info& info) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message("because");
  google::rpc::ErrorInfo detail;
  detail.set_domain(info.domain);
  detail.set_reason(info.reason);
  if (!info.outcome.empty()) (*detail.mutable_metadata())["outcome"] = info.outcome;
  status.add_details()->PackFrom(detail);
  return status;
}

TEST(ErrorTest, OurErrorInfoWithRefused_ProvesRefusal) {
  const Error error = ErrorFromStatus(StatusOf(google::rpc::UNAVAILABLE, Info()));
  EXPECT_EQ(error.origin, Error::Origin::kServer);
  EXPECT_EQ(error.reason, v1::ERROR_REASON_NOT_LEADER);
  EXPECT_TRUE(ProvesRefusal(error));
  EXPECT_TRUE(std::holds_alternative<Refused>(OutcomeOf(error)));
}

TEST(ErrorTest, ReasonOfANewerServer_StillProvesRefusal) {
  Info info;
  info.reason = "SOMETHING_NEW";
  const Error error = ErrorFromStatus(StatusOf(google::rpc::ABORTED, info));
  EXPECT_EQ(error.reason, v1::ERROR_REASON_UNSPECIFIED);
  EXPECT_EQ(error.reason_name, "SOMETHING_NEW");
  EXPECT_TRUE(ProvesRefusal(error));
}

TEST(ErrorTest, AnythingElse_ProvesNothing) {
  Info foreign;
  foreign.domain = "example.com";
  Info unknown;
  unknown.outcome = "unknown";
  Info silent;
  silent.outcome = "";
  for (const Info& info : {foreign, unknown, silent}) {
    const Error error = ErrorFromStatus(StatusOf(google::rpc::UNAVAILABLE, info));
    EXPECT_FALSE(ProvesRefusal(error)) << info.domain << " " << info.outcome;
    EXPECT_TRUE(std::holds_alternative<Unknown>(OutcomeOf(error)));
  }
  for (int code = 1; code <= 16; ++code) {
    EXPECT_FALSE(ProvesRefusal(ErrorFromStatus(code, "no details", ""))) << code;
    EXPECT_FALSE(ProvesRefusal(ErrorFromStatus(code, "bad details", "\xff\xff"))) << code;
  }
}

TEST(ErrorTest, NothingSent_ProvesRefusal) {
  EXPECT_TRUE(ProvesRefusal(NotSentError("nobody there")));
  EXPECT_FALSE(MayHaveHappened(NotSentError("nobody there")));
}

TEST(ResultDeathTest, WhatIsNotThere_EndsTheProgramAndSaysWhy) {
  const Result<int> failed = NotSentError("nobody there");
  EXPECT_DEATH(failed.value(), "there is no value: .*nobody there");
  const Result<int> succeeded = 3;
  EXPECT_EQ(succeeded.value(), 3);
  EXPECT_DEATH(succeeded.error(), "there is no error");
}

TEST(ErrorTest, AnswerWithoutOffset_IsUnknown) {
  EXPECT_TRUE(std::holds_alternative<Unknown>(OutcomeOf(v1::AppendResponse())));
  v1::AppendResponse response;
  response.set_base_offset(0);
  EXPECT_TRUE(std::holds_alternative<Committed>(OutcomeOf(response)));
  response.set_base_offset(-1);
  EXPECT_TRUE(std::holds_alternative<Unknown>(OutcomeOf(response)));
}

TEST(ErrorTest, Details_AreAllRead) {
  google::rpc::Status status = StatusOf(google::rpc::UNAVAILABLE, Info());
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(status.details(0).UnpackTo(&info));
  (*info.mutable_metadata())["leader_id"] = "2";
  (*info.mutable_metadata())["leader_epoch"] = "9";
  (*info.mutable_metadata())["leader_endpoint"] = "127.0.0.1:7102";
  status.mutable_details(0)->PackFrom(info);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(5);
  status.add_details()->PackFrom(retry);
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("partition");
  violation->set_description("is missing");
  status.add_details()->PackFrom(bad);

  // Through the trailer, as it comes from the wire.
  const Error error =
      ErrorFromStatus(google::rpc::UNAVAILABLE, "because", status.SerializeAsString());
  const LeaderHint hint = error.leader();
  ASSERT_TRUE(hint.node.has_value() && hint.epoch.has_value());
  EXPECT_EQ(hint.node->value(), 2);
  EXPECT_EQ(hint.epoch->value(), 9);
  EXPECT_EQ(hint.address, "127.0.0.1:7102");
  EXPECT_EQ(error.retry_delay, std::chrono::seconds(1) + Duration(5));
  EXPECT_EQ(error.ToString(), "NOT_LEADER: because; partition: is missing");
}

TEST(ErrorTest, HostileNumbers_AreIgnoredOrBounded) {
  google::rpc::Status status;
  status.set_code(12345);
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  (*info.mutable_metadata())["leader_id"] = "-1";
  (*info.mutable_metadata())["leader_epoch"] = "99999999999999999999";
  status.add_details()->PackFrom(info);
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(INT64_MAX);
  status.add_details()->PackFrom(retry);
  const Error error = ErrorFromStatus(status);
  EXPECT_EQ(error.code, google::rpc::UNKNOWN);
  EXPECT_FALSE(error.leader().node.has_value());
  EXPECT_FALSE(error.leader().epoch.has_value());
  EXPECT_EQ(error.retry_delay, std::chrono::hours(1));
}

TEST(ErrorTest, Text_IsOneLine) {
  EXPECT_EQ(ErrorFromStatus(google::rpc::INTERNAL, "a\nb\rc", "").ToString(), "INTERNAL: a b c");
}

TEST(ExitCodeTest, Append_SaysWhatBecameOfIt) {
  EXPECT_EQ(ExitCodeOf(AppendOutcome(Committed{})), ExitCode::kDone);
  const Error refused = ErrorFromStatus(StatusOf(google::rpc::UNAVAILABLE, Info()));
  EXPECT_EQ(ExitCodeOf(OutcomeOf(refused)), ExitCode::kRefused);
  Info missing;
  missing.reason = "UNKNOWN_TOPIC_OR_PARTITION";
  EXPECT_EQ(ExitCodeOf(OutcomeOf(ErrorFromStatus(StatusOf(google::rpc::NOT_FOUND, missing)))),
            ExitCode::kNotFound);
  // Without proof it is unknown, even for NOT_FOUND.
  EXPECT_EQ(ExitCodeOf(OutcomeOf(ErrorFromStatus(google::rpc::NOT_FOUND, "", ""))),
            ExitCode::kUnknown);
  EXPECT_EQ(ExitCodeOf(OutcomeOf(NotSentError(""))), ExitCode::kUnreachable);
  // Nothing was sent, but not because nobody is there.
  Error full = NotSentError("");
  full.code = google::rpc::RESOURCE_EXHAUSTED;
  EXPECT_EQ(ExitCodeOf(OutcomeOf(full)), ExitCode::kRefused);
}

TEST(OutcomeTest, RefusalAfterAnUnprovenAttempt_IsUnknown) {
  Error refused = ErrorFromStatus(StatusOf(google::rpc::UNAVAILABLE, Info()));
  EXPECT_TRUE(std::holds_alternative<Refused>(OutcomeOf(refused)));
  refused.earlier_unproven = true;
  EXPECT_TRUE(std::holds_alternative<Unknown>(OutcomeOf(refused)));
}

TEST(ExitCodeTest, Change_SaysWhetherItMayHaveHappened) {
  Info exists;
  exists.reason = "TOPIC_ALREADY_EXISTS";
  exists.outcome = "";
  EXPECT_EQ(
      ExitCodeOf(CallKind::kChange, ErrorFromStatus(StatusOf(google::rpc::ALREADY_EXISTS, exists))),
      ExitCode::kRefused);
  Info timed_out;
  timed_out.reason = "REQUEST_TIMED_OUT";
  EXPECT_EQ(ExitCodeOf(CallKind::kChange,
                       ErrorFromStatus(StatusOf(google::rpc::DEADLINE_EXCEEDED, timed_out))),
            ExitCode::kUnknown);
  EXPECT_EQ(ExitCodeOf(CallKind::kChange, ErrorFromStatus(google::rpc::UNAVAILABLE, "", "")),
            ExitCode::kUnknown);
}

TEST(ExitCodeTest, Read_IsMissingLateOrFailed) {
  Info missing;
  missing.reason = "UNKNOWN_TOPIC_OR_PARTITION";
  EXPECT_EQ(ExitCodeOf(CallKind::kRead, ErrorFromStatus(StatusOf(google::rpc::NOT_FOUND, missing))),
            ExitCode::kNotFound);
  EXPECT_EQ(ExitCodeOf(CallKind::kRead, ErrorFromStatus(google::rpc::UNAVAILABLE, "", "")),
            ExitCode::kUnreachable);
  EXPECT_EQ(ExitCodeOf(CallKind::kRead, ErrorFromStatus(google::rpc::INTERNAL, "", "")),
            ExitCode::kFailed);
}

}  // namespace
}  // namespace quorum::client

// Errors say the same in a status and in an entry, and stay small whatever they quote.

#include "service/transport/call_error.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>

#include "service/transport/call_deadline.h"

namespace quorum::transport {
namespace {

TEST(CallErrorTest, AStatusAndAnEntrySayTheSame) {
  const CallError error =
      CallError(v1::ERROR_REASON_NOT_LEADER, "node 3 leads").With("leader_id", 3).Refused();
  const google::rpc::Status rpc = error.ToRpc();
  // Compared as messages: the order of a map on the wire is nobody's promise.
  const google::rpc::Status from_grpc = RpcStatusOf(error.ToGrpc());
  EXPECT_EQ(from_grpc.code(), rpc.code());
  EXPECT_EQ(from_grpc.message(), rpc.message());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(*ErrorInfoOf(from_grpc),
                                                                 *ErrorInfoOf(rpc)));
  EXPECT_EQ(rpc.code(), static_cast<int>(grpc::StatusCode::UNAVAILABLE));
  EXPECT_TRUE(HasReason(rpc, v1::ERROR_REASON_NOT_LEADER));
  EXPECT_EQ(ErrorInfoOf(rpc)->domain(), "quorum.v1");
  EXPECT_EQ(MetadataNumber(rpc, "leader_id"), 3);
  EXPECT_EQ(MetadataNumber(rpc, "leader_epoch"), std::nullopt);
  EXPECT_TRUE(error.is_refused());
}

TEST(CallErrorTest, EveryReasonHasACode) {
  for (int i = v1::ErrorReason_MIN + 1; i <= v1::ErrorReason_MAX; ++i) {
    const auto reason = static_cast<v1::ErrorReason>(i);
    const CallError error(reason, "");
    EXPECT_NE(error.code(), grpc::StatusCode::OK) << ReasonName(reason);
    EXPECT_EQ(error.code() == grpc::StatusCode::INTERNAL, reason == v1::ERROR_REASON_INTERNAL)
        << ReasonName(reason);
  }
}

TEST(CallErrorTest, AFieldAndAWaitAreDetails) {
  const google::rpc::Status rpc =
      InvalidField("topic", "is required").WithRetryAfter(std::chrono::milliseconds(1500)).ToRpc();
  ASSERT_EQ(rpc.details_size(), 3);
  google::rpc::BadRequest bad;
  ASSERT_TRUE(rpc.details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations(0).field(), "topic");
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(rpc.details(2).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(CallErrorTest, WhatAClientSentIsCutBetweenCharacters) {
  std::string name;
  while (name.size() < 1'000'000) name += "x\u20ac";
  const google::rpc::Status rpc =
      CallError(v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION, name).With("topic", name).ToRpc();
  EXPECT_LT(rpc.ByteSizeLong(), 2'000u);
  google::rpc::Status parsed;
  EXPECT_TRUE(parsed.ParseFromString(rpc.SerializeAsString()));
  EXPECT_EQ(ErrorInfoOf(parsed)->metadata().at("topic"), name.substr(0, 512));
}

TEST(CallErrorTest, WhatIsNoErrorOfOursHasNoErrorInfo) {
  EXPECT_FALSE(ErrorInfoOf(RpcStatusOf(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"))));
  const grpc::Status junk(grpc::StatusCode::UNAVAILABLE, "gone", "\xff\xff");
  EXPECT_EQ(RpcStatusOf(junk).message(), "gone");
  google::rpc::Status other;
  google::rpc::ErrorInfo info;
  info.set_domain("elsewhere");
  info.set_reason("NOT_LEADER");
  other.add_details()->PackFrom(info);
  EXPECT_FALSE(HasReason(other, v1::ERROR_REASON_NOT_LEADER));
}

TEST(CallErrorTest, DurationsAreReadAndWritten) {
  google::protobuf::Duration message;
  EncodeDuration(std::chrono::milliseconds(2750), &message);
  EXPECT_EQ(DecodeDuration(message), std::chrono::milliseconds(2750));
  message.set_seconds(-1);
  EXPECT_FALSE(DecodeDuration(message).has_value());
  message.set_seconds(INT64_MAX);
  EXPECT_FALSE(DecodeDuration(message).has_value());
  // Ten thousand years are allowed, and count as the 136 years that fit.
  message.set_seconds(315'576'000'000);
  EXPECT_GT(DecodeDuration(message), std::chrono::hours(24 * 365 * 100));
  message.set_seconds(0);
  message.set_nanos(1'000'000'000);
  EXPECT_FALSE(DecodeDuration(message).has_value());
}

}  // namespace
}  // namespace quorum::transport

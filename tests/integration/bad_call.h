// BadCall: one call with bad input, over raw stubs, and what it is answered. The tables of
// bad_log_calls_test.cc and bad_admin_calls_test.cc are made of them; docs/bad-input.md lists what
// they say.
//
// Thread: the test's main thread.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <string>

#include "tests/integration/shared_cluster.h"

namespace quorum::integration {

// Where epochs and offsets end.
inline constexpr int64_t kLimit = int64_t{1} << 62;
inline constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
inline constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

struct BadCall {
  std::string name;
  std::function<Failure(const Stubs&)> call;
  grpc::StatusCode code;
  // Of our ErrorInfo; empty where there is none.
  std::string reason;
  // What BadRequest names; empty where that is not looked at.
  std::string field;
};

inline std::ostream& operator<<(std::ostream& out, const BadCall& c) { return out << c.name; }

// Whatever was asked, the shared cluster goes on: see SharedClusterTest::TearDown.
class BadCallTest : public SharedClusterTest, public testing::WithParamInterface<BadCall> {
 protected:
  static void Check(const BadCall& c) {
    const Failure failure = c.call(any());
    EXPECT_EQ(failure.code, c.code) << failure;
    EXPECT_EQ(failure.reason, c.reason) << failure;
    if (!c.field.empty()) {
      EXPECT_THAT(failure.fields, testing::ElementsAre(c.field)) << failure;
    }
    if (c.code != grpc::StatusCode::OK) {
      EXPECT_FALSE(failure.message.empty());
    }
  }
};

// An empty request of any unary call, changed by `change`.
template <typename Stub, typename Request, typename Response>
BadCall MakeBadCall(const std::string& name, const std::unique_ptr<Stub> Stubs::*stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const std::function<void(Request&)>& change, grpc::StatusCode code,
                    const std::string& reason, const std::string& field = "") {
  const auto call = [stub, method, change](const Stubs& stubs) {
    Request request;
    change(request);
    Response response;
    return FailureOf(Call(*(stubs.*stub), method, request, &response));
  };
  return BadCall{name, call, code, reason, field};
}

}  // namespace quorum::integration

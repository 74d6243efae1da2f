// Await: waits until other processes have got somewhere. There is no way to be woken by them, so it
// looks again and again; a condition that does not come true in time is a failed assertion that
// says what was still missing.
//
//   ASSERT_TRUE(Await("node 1 leads", [&] { return leads(1) ? "" : "it follows"; }));
//
// Thread: any.

#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "service/base/time.h"

namespace quorum::integration {

// The longest wait of any test.
inline constexpr Duration kWaitMax = std::chrono::seconds(30);

// What is still missing; empty when the condition holds.
using Condition = std::function<std::string()>;

testing::AssertionResult Await(const std::string& what, const Condition& condition,
                               Duration limit = kWaitMax);

// The time of this process.
MonoTime Now();

}  // namespace quorum::integration

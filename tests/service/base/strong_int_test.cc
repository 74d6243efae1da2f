#include "service/base/strong_int.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <type_traits>
#include <utility>

#include "absl/hash/hash.h"

namespace quorum {
namespace {

struct AppleTag {};
struct PearTag {};
using Apple = StrongInt<AppleTag, int32_t>;
using Pear = StrongInt<PearTag, int32_t>;

template <typename A, typename B, typename = void>
struct AreComparable : std::false_type {};
template <typename A, typename B>
struct AreComparable<A, B, std::void_t<decltype(std::declval<A>() == std::declval<B>())>>
    : std::true_type {};

static_assert(!std::is_convertible_v<int32_t, Apple>, "Construction is explicit.");
static_assert(!std::is_convertible_v<Apple, int32_t>, "So is the way back.");
static_assert(!std::is_constructible_v<Apple, Pear>, "Two meanings do not mix.");
static_assert(AreComparable<Apple, Apple>::value, "One meaning compares with itself.");
static_assert(!AreComparable<Apple, Pear>::value, "Two meanings do not compare.");
static_assert(!AreComparable<Apple, int32_t>::value, "A bare integer has no meaning.");

TEST(StrongInt, Default_IsZero) { EXPECT_EQ(Apple().value(), 0); }

TEST(StrongInt, Comparison_FollowsTheValue) {
  for (int32_t a = -2; a <= 2; ++a) {
    for (int32_t b = -2; b <= 2; ++b) {
      EXPECT_EQ(Apple(a) == Apple(b), a == b);
      EXPECT_EQ(Apple(a) != Apple(b), a != b);
      EXPECT_EQ(Apple(a) < Apple(b), a < b);
      EXPECT_EQ(Apple(a) <= Apple(b), a <= b);
      EXPECT_EQ(Apple(a) > Apple(b), a > b);
      EXPECT_EQ(Apple(a) >= Apple(b), a >= b);
    }
  }
}

TEST(StrongInt, Print_GivesTheNumber) {
  std::ostringstream out;
  out << Apple(-17);
  EXPECT_EQ(out.str(), "-17");
}

TEST(StrongInt, Hash_FollowsTheValue) {
  EXPECT_EQ(absl::Hash<Apple>()(Apple(5)), absl::Hash<Apple>()(Apple(5)));
  EXPECT_NE(absl::Hash<Apple>()(Apple(5)), absl::Hash<Apple>()(Apple(6)));
}

}  // namespace
}  // namespace quorum

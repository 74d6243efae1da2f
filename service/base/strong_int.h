// StrongInt: an integer with a meaning of its own.
//
// An epoch is not an offset, and a topic id is not a node id; code that mixes two of them does not
// compile. A StrongInt has no arithmetic except where the alias that names it adds some.
//
// Thread: a plain value, safe wherever its holder is.

#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <utility>

namespace quorum {

template <typename Tag, typename Rep>
class StrongInt {
 public:
  using Value = Rep;

  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }

  friend constexpr bool operator==(StrongInt a, StrongInt b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(StrongInt a, StrongInt b) { return a.value_ != b.value_; }
  friend constexpr bool operator<(StrongInt a, StrongInt b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(StrongInt a, StrongInt b) { return a.value_ <= b.value_; }
  friend constexpr bool operator>(StrongInt a, StrongInt b) { return a.value_ > b.value_; }
  friend constexpr bool operator>=(StrongInt a, StrongInt b) { return a.value_ >= b.value_; }

  friend std::ostream& operator<<(std::ostream& out, StrongInt a) { return out << a.value_; }

  template <typename H>
  friend H AbslHashValue(H state, StrongInt a) {
    return H::combine(std::move(state), a.value_);
  }

 private:
  Rep value_ = Rep{};
};

}  // namespace quorum

// A seeded random number generator as a value (splitmix64). The process takes one seed, logs it,
// and forks a stream of its own for each partition and link, so that a draw added in one place
// shifts no other.
//
// Thread: a plain value; never share one between threads.

#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "service/base/check.h"
#include "service/base/time.h"

namespace quorum {

class Prng {
 public:
  explicit Prng(uint64_t seed) : state_(seed) {}

  // Uniform over all 64-bit values.
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }

  // Uniform in [0, bound). `bound` must be positive. The bias is below 2^-32 for bounds below 2^32.
  uint64_t Below(uint64_t bound) {
    CHECK_GT(bound, 0u);
    return Next() % bound;
  }

  // Uniform in [low, high], both ends included.
  int64_t Between(int64_t low, int64_t high) {
    CHECK_LE(low, high);
    // Unsigned, because the width of the range may not fit in an int64_t.
    const uint64_t last = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    const uint64_t drawn = last == UINT64_MAX ? Next() : Below(last + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(low) + drawn);
  }

  // True with probability `per_million` / 1,000,000.
  bool Chance(uint64_t per_million) { return Below(1'000'000) < per_million; }

  // Uniform in [low, high); `low` when the range is empty.
  Duration Between(Duration low, Duration high) {
    if (high <= low) return low;
    return Duration(Between(low.count(), high.count() - 1));
  }

  // A stream that depends on this one's current state and on `name` only. Takes one draw of this
  // one, so that two forks of one name differ.
  Prng Fork(absl::string_view name) {
    uint64_t hash = 0xcbf29ce484222325ULL ^ Next();
    for (const char c : name) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3ULL;
    }
    return Prng(hash);
  }

 private:
  uint64_t state_;
};

}  // namespace quorum

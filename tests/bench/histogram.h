// Histogram: latencies in buckets that grow with the value, so that a percentile is off by less
// than 1.6 % whatever its size, and recording is one increment.
//
// Each power of two from 64 on is cut into 64 equal buckets; below 64 a bucket is one value.
//
// Thread: a plain value; each caller has its own, and they are merged in the end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quorum::bench {

class Histogram {
 public:
  Histogram();

  // Any unit; larger than 2^40 counts as 2^40.
  void Record(uint64_t value);
  void Merge(const Histogram& other);

  uint64_t count() const { return count_; }
  // The largest value, exactly.
  uint64_t max() const { return max_; }
  // 0 when nothing was recorded.
  double Mean() const;
  // The smallest value that at least `fraction` of the values do not exceed, rounded up to its
  // bucket's end but never above max(). 0 when nothing was recorded. Range of `fraction` (0, 1].
  uint64_t Percentile(double fraction) const;

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

}  // namespace quorum::bench

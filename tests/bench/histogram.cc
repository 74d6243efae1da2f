#include "tests/bench/histogram.h"

#include <algorithm>
#include <cmath>

#include "service/base/check.h"

namespace quorum::bench {
namespace {

constexpr unsigned kSubBits = 6;
constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;
constexpr unsigned kValueBits = 40;
constexpr uint64_t kValueMax = uint64_t{1} << kValueBits;
constexpr size_t kBucketCount = (kValueBits - kSubBits + 2) * kSubBuckets;

size_t BucketOf(uint64_t value) {
  if (value < kSubBuckets) return value;
  const unsigned top_bit = 63 - static_cast<unsigned>(__builtin_clzll(value));
  const unsigned shift = top_bit - kSubBits;
  return (shift + 1) * kSubBuckets + ((value >> shift) - kSubBuckets);
}

uint64_t LastValueOf(size_t bucket) {
  if (bucket < kSubBuckets) return bucket;
  const uint64_t shift = bucket / kSubBuckets - 1;
  const uint64_t first = (bucket % kSubBuckets + kSubBuckets) << shift;
  return first + (uint64_t{1} << shift) - 1;
}

}  // namespace

Histogram::Histogram() : buckets_(kBucketCount) {}

void Histogram::Record(uint64_t value) {
  value = std::min(value, kValueMax);
  ++buckets_[BucketOf(value)];
  ++count_;
  sum_ += value;
  max_ = std::max(max_, value);
}

void Histogram::Merge(const Histogram& other) {
  for (size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  max_ = std::max(max_, other.max_);
}

double Histogram::Mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::Percentile(double fraction) const {
  CHECK(fraction > 0 && fraction <= 1);
  if (count_ == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return std::min(LastValueOf(i), max_);
  }
  return max_;
}

}  // namespace quorum::bench

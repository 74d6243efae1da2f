#include "tests/bench/histogram.h"

#include <gtest/gtest.h>

namespace quorum::bench {
namespace {

TEST(HistogramTest, AnEmptyOneAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.Percentile(0.5), 0u);
  EXPECT_EQ(histogram.Mean(), 0);
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 50; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.Percentile(0.5), 25u);
  EXPECT_EQ(histogram.Percentile(0.02), 1u);
  EXPECT_EQ(histogram.Percentile(1), 50u);
  EXPECT_DOUBLE_EQ(histogram.Mean(), 25.5);
}

TEST(HistogramTest, LargeValuesAreOffByLessThanTwoPercent) {
  for (uint64_t value = 1; value < (uint64_t{1} << 40); value = value * 3 + 1) {
    Histogram histogram;
    histogram.Record(value);
    histogram.Record(value * 4);
    const uint64_t low = histogram.Percentile(0.5);
    EXPECT_GE(low, value);
    EXPECT_LE(static_cast<double>(low), static_cast<double>(value) * 1.016) << value;
  }
}

TEST(HistogramTest, APercentileNeverExceedsTheMaximum) {
  Histogram histogram;
  histogram.Record(1'000'001);
  EXPECT_EQ(histogram.Percentile(0.99), 1'000'001u);
  EXPECT_EQ(histogram.max(), 1'000'001u);
}

TEST(HistogramTest, ValuesBeyondTheRangeCountAsItsEnd) {
  Histogram histogram;
  histogram.Record(UINT64_MAX);
  EXPECT_EQ(histogram.Percentile(0.5), uint64_t{1} << 40);
}

TEST(HistogramTest, MergingIsRecordingBoth) {
  Histogram low;
  Histogram high;
  for (uint64_t i = 0; i < 99; ++i) low.Record(10);
  high.Record(40);
  low.Merge(high);
  EXPECT_EQ(low.count(), 100u);
  EXPECT_EQ(low.Percentile(0.99), 10u);
  EXPECT_EQ(low.Percentile(0.995), 40u);
  EXPECT_EQ(low.max(), 40u);
}

}  // namespace
}  // namespace quorum::bench

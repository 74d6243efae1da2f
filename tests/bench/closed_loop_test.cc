#include "tests/bench/closed_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace quorum::bench {
namespace {

// Goes on by ten milliseconds at each reading.
class SteppingClock : public Clock {
 public:
  MonoTime Now() const override { return MonoTime(std::chrono::milliseconds(10 * ++readings_)); }
  int64_t WallTimeMs() const override { return 0; }

 private:
  mutable int64_t readings_ = 0;
};

// Fails at once, on the caller's thread.
class RefusedCaller : public Caller {
 public:
  explicit RefusedCaller(uint64_t* calls) : calls_(calls) {}

  void Call(Done done) override {
    ++*calls_;
    done(grpc::Status(grpc::StatusCode::ABORTED, "refused"));
  }
  void Cancel() override {}
  uint64_t records() const override { return 1; }

 private:
  uint64_t* const calls_;
};

// Keeps its call until it is released by hand.
class HeldCaller : public Caller {
 public:
  explicit HeldCaller(std::vector<Done>* held) : held_(held) {}

  void Call(Done done) override { held_->push_back(std::move(done)); }
  void Cancel() override {}
  uint64_t records() const override { return 1; }

 private:
  std::vector<Done>* const held_;
};

TEST(ClosedLoopTest, GivesUpAfterTooManyErrors) {
  SteppingClock clock;
  uint64_t calls = 0;
  std::vector<std::unique_ptr<Caller>> callers;
  callers.push_back(std::make_unique<RefusedCaller>(&calls));
  LoopOptions options;
  options.warmup = std::chrono::hours(1);
  options.time_max = std::chrono::hours(1);
  options.errors_max = 7;
  const LoopResult result = ClosedLoop(clock, std::move(callers), options).Run([] {}, [] {});
  EXPECT_EQ(result.errors, 7u);
  EXPECT_EQ(result.first_error, "refused");
  EXPECT_EQ(result.calls, 0u);
  EXPECT_EQ(calls, 7u);
}

TEST(ClosedLoopTest, CountsOnlyWhatEndsInTheMeasuredPart) {
  SteppingClock clock;
  std::vector<Caller::Done> held;
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 3; ++i) callers.push_back(std::make_unique<HeldCaller>(&held));
  LoopOptions options;
  options.time_max = std::chrono::milliseconds(50);
  const auto release = [&held] {
    std::vector<Caller::Done> ready = std::exchange(held, {});
    for (Caller::Done& done : ready) done(grpc::Status::OK);
  };
  // The calls that end at the beginning end in the warm-up, and their successors after the end.
  const LoopResult result = ClosedLoop(clock, std::move(callers), options).Run(release, release);
  EXPECT_EQ(result.calls, 0u);
  EXPECT_EQ(result.errors, 0u);
  EXPECT_GE(result.elapsed, options.time_max);
}

}  // namespace
}  // namespace quorum::bench

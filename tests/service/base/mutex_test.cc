#include "service/base/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "absl/base/thread_annotations.h"
#include "service/base/time.h"

namespace quorum {
namespace {

// Longer than any test runs: it is reached only when a wake-up is lost.
constexpr Duration kLong = std::chrono::minutes(10);

class Box {
 public:
  void Add(int amount) {
    MutexLock lock(&mutex_);
    value_ += amount;
    changed_.NotifyAll();
  }

  void WaitUntil(int value) {
    MutexLock lock(&mutex_);
    while (value_ < value) changed_.Wait(&mutex_);
  }

  // False when the time passed first.
  bool WaitUntil(int value, Duration time_max) {
    MutexLock lock(&mutex_);
    while (value_ < value) {
      if (!changed_.WaitFor(&mutex_, time_max)) return value_ >= value;
    }
    return true;
  }

  int value() {
    MutexLock lock(&mutex_);
    return value_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int value_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(Mutex, TwoThreads_LoseNoUpdate) {
  Box box;
  const auto add_many = [&box] {
    for (int i = 0; i < 20000; ++i) box.Add(1);
  };
  auto other = std::async(std::launch::async, add_many);
  add_many();
  other.get();
  EXPECT_EQ(box.value(), 40000);
}

TEST(Mutex, TryLock_FailsWhileAnotherThreadHoldsIt) {
  Mutex mutex;
  const auto try_elsewhere = [&mutex] {
    return std::async(std::launch::async,
                      [&mutex] {
                        if (!mutex.TryLock()) return false;
                        mutex.Unlock();
                        return true;
                      })
        .get();
  };
  mutex.Lock();
  EXPECT_FALSE(try_elsewhere());
  mutex.Unlock();
  EXPECT_TRUE(try_elsewhere());
}

TEST(MutexLock, EndOfScope_Releases) {
  Mutex mutex;
  { MutexLock lock(&mutex); }
  const bool taken = mutex.TryLock();
  EXPECT_TRUE(taken);
  if (taken) mutex.Unlock();
}

TEST(CondVar, Wait_ReturnsAfterTheChange) {
  Box box;
  auto waiter = std::async(std::launch::async, [&box] { box.WaitUntil(3); });
  for (int i = 0; i < 3; ++i) box.Add(1);
  waiter.get();
  EXPECT_EQ(box.value(), 3);
}

TEST(CondVar, WaitFor_ReturnsAfterTheChange) {
  Box box;
  auto waiter = std::async(std::launch::async, [&box] { return box.WaitUntil(1, kLong); });
  box.Add(1);
  EXPECT_TRUE(waiter.get());
}

TEST(CondVar, WaitFor_TimePassed_IsFalseAndTheLockIsHeld) {
  Box box;
  EXPECT_FALSE(box.WaitUntil(1, Duration(1)));
  // Were the lock still held, or held twice, this would hang or die.
  box.Add(1);
  EXPECT_TRUE(box.WaitUntil(1, Duration(1)));
}

TEST(CondVar, WaitFor_TheLongestTime_DoesNotOverflow) {
  Box box;
  auto waiter =
      std::async(std::launch::async, [&box] { return box.WaitUntil(1, Duration::max()); });
  EXPECT_EQ(waiter.wait_for(std::chrono::milliseconds(5)), std::future_status::timeout);
  box.Add(1);
  EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace quorum

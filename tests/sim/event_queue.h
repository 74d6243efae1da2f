// EventQueue: the one queue that drives a simulation. Everything that happens is an action at a
// world time; actions of one instant run in the order in which they were added, so that a run is a
// function of its seed.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "service/base/time.h"

namespace quorum::sim {

// Time since the beginning of the simulation, which no simulated node can read.
using WorldTime = Duration;

class EventQueue {
 public:
  WorldTime now() const { return now_; }
  uint64_t executed() const { return executed_; }

  // Runs `action` at `when`, or at once when that is past.
  void At(WorldTime when, std::function<void()> action);
  void After(Duration delay, std::function<void()> action) { At(now_ + delay, std::move(action)); }

  // Moves time to the next action and runs it. False when there is none.
  bool RunNext();

 private:
  struct Event {
    WorldTime at;
    uint64_t sequence = 0;
    std::function<void()> action;
  };
  // A heap has its greatest element in front, so the earliest event must be the greatest.
  static bool IsLater(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
  }

  WorldTime now_ = WorldTime::zero();
  uint64_t last_sequence_ = 0;
  uint64_t executed_ = 0;
  std::vector<Event> heap_;
};

}  // namespace quorum::sim

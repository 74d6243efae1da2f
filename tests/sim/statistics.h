// Statistics: what a run of seeds has seen. A simulator that finds nothing proves something only if
// the interesting things happened; those that must are marked here and fail a run in which they
// did not.
//
// Thread: the simulator's only one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "service/base/time.h"

namespace quorum::sim {

enum class Counter : size_t {
  kSeeds,
  kEvents,
  kRounds,
  kElections,
  kVotesRefused,
  kResignations,
  kHandOvers,
  kTruncations,
  kLongTruncations,
  kCommittedRecords,
  kAppendsCommitted,
  kAppendsRefused,
  kAppendsUnknown,
  kUnknownCommitted,
  kUnknownLost,
  kBatchesRead,
  kDescribes,
  kCrashes,
  kCrashesWithLostData,
  kPowerCuts,
  kRestarts,
  kPauses,
  kCuts,
  kRequestsLost,
  kAnswersLost,
  kDuplicates,
  kSessionsEnded,
  kStuckDisks,
  kSyncsInFlightMax,
  kQuarantines,
  kWipes,
  kTopicsCreated,
  kTopicsDeleted,
  kRegistrations,
  kControllerChanges,
  kBirths,
  kLateBirths,
  kBurials,
  kObserversMoved,
  kProducerIds,
  kProducerBatches,
  kDuplicatesTold,
  kBindings,
  kProducersFenced,
  kProducersForgotten,
  kConditionsMet,
  kConditionsMissed,
  kConditionalBatches,
  kConditionalBatchesRefused,
  kConditionalDuplicatesTold,
  kBatchesOfOldEpochs,
  kStalledControllers,
  kClockChanges,
  kLeadersDeposed,
  kAttemptsGivenUp,
  kReplayedSeeds,
  kCount,
};

class Statistics {
 public:
  void Add(Counter counter, uint64_t amount = 1) {
    values_[static_cast<size_t>(counter)] += amount;
  }
  void Max(Counter counter, uint64_t value);
  uint64_t Get(Counter counter) const { return values_[static_cast<size_t>(counter)]; }

  // What one seed has cost in CPU time, its second run not counted.
  void AddCost(Duration cost) { costs_.push_back(cost); }
  // Zero without a seed.
  Duration CostMedian() const;
  Duration CostMax() const;

  // Adds what other seeds have seen.
  void Merge(const Statistics& other);
  // As text, from one process to another.
  std::string Encode() const;
  static Statistics Decode(const std::string& text);

  void Print(std::ostream& out) const;
  // The names of counters that must not be zero in a run of many seeds, and are.
  std::vector<const char*> Missing() const;

 private:
  std::array<uint64_t, static_cast<size_t>(Counter::kCount)> values_{};
  // One per seed.
  std::vector<Duration> costs_;
};

}  // namespace quorum::sim

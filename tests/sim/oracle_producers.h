// ProducerOracle: what producers and their logs owe each other. It replays each committed log by
// rules of its own, which say the same as service/shard/producer_states.h in a simpler way, and
// checks:
//
//   * every batch of a producer follows its last one, in its newest epoch: so each is there exactly
//     once, in order, and none comes after a fence (the binding of its name to a newer epoch);
//   * a batch that is acknowledged, as new or as a duplicate, is committed at that offset by then;
//     one whose attempts were all refused is never there;
//   * a batch is where its conditions hold, and nowhere else; a retry of one that is there is told
//     so, and not that the conditions do not hold any more;
//   * a binding that is acknowledged is committed by then, and no two of them are alike;
//   * a producer is called fenced, unknown or out of order only when it is, also by a leader that
//     is deposed and does not know it; the end that a mismatch names is no older than its call;
//   * ids are given out once.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "service/base/control_record.h"
#include "service/base/ids.h"
#include "service/base/producer.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/shard/client_calls.h"
#include "tests/sim/conditions.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {

// Payloads of producers, so that no other client's is like one.
inline constexpr uint64_t kProducerPayloads = uint64_t{1} << 63;

class ProducerOracle {
 public:
  // `expiry` is that of the product's limits.
  ProducerOracle(Failure* failure, Statistics* statistics, Oracle* oracle, Duration expiry);

  void OnIds(int64_t first, uint32_t count);
  // A batch of `records` records is made; its attempts are all alike.
  void OnMade(uint64_t payload, PartitionId partition, const ProducerStamp& stamp, uint32_t records,
              const AppendConditions& conditions);
  // An attempt of it is sent. Returns the attempt.
  uint64_t OnSent(uint64_t payload);
  // What the attempt is told, whether anybody listens or not.
  void OnAnswer(uint64_t attempt, const shard::AppendResult& result);
  // It will never be answered.
  void OnLost(uint64_t attempt);
  void OnBound(PartitionId partition, const ProducerBinding& binding);

  // A round is over: what was answered in it is compared with what is committed by now.
  void AfterRound();
  // The run is over: the logs hold what they will ever hold.
  void Finish();

 private:
  struct Known {
    int32_t epoch = 0;
    int64_t next_sequence = 0;
    int64_t last_timestamp_ms = 0;
    std::string name;
  };
  // What the committed log says of its producers.
  struct Model {
    // Batches of the committed log that have been taken in.
    size_t taken = 0;
    int64_t timestamp_ms = 0;
    // The highest committed end that anybody was told.
    Offset told_end;
    std::map<int64_t, Known> producers;
    // Every binding, and every producer that was forgotten, with how often.
    std::set<std::tuple<std::string, int64_t, int32_t>> bindings;
    std::map<int64_t, int> forgotten;
  };
  struct Made {
    PartitionId partition;
    ProducerStamp stamp;
    uint32_t records = 0;
    AppendConditions conditions;
    // How often its producer had been forgotten when it was made.
    int forgotten_before = 0;
    // Attempts that were not refused.
    int open = 0;
    // It was told that somebody else was first.
    bool too_late = false;
    // Where it is committed.
    std::optional<Offset> found;
  };
  // One time that it is sent, and how the log was then.
  struct Attempt {
    uint64_t payload = 0;
    // It was there already; or it followed.
    bool found = false;
    bool follows = false;
    // How often its producer had been forgotten.
    int forgotten = 0;
    Offset told_end;
  };
  struct Answer {
    Attempt attempt;
    shard::AppendResult result;
  };

  Model& Advance(PartitionId partition);
  void Take(PartitionId partition, Model& model, const RecordBatch& batch);
  void TakeStamp(PartitionId partition, Model& model, const BatchHeader& batch);
  void TakeBinding(PartitionId partition, Model& model, Offset offset,
                   const ProducerBinding& binding);
  // The batch is what its producer made, where it may be.
  void CheckMade(PartitionId partition, const RecordBatch& batch);
  static bool Follows(const Model& model, const ProducerStamp& stamp);
  void CheckAnswer(const Answer& answer);
  void CheckCommitted(const Made& made, uint64_t payload, const shard::AppendResult& result);
  void CheckRefused(const Attempt& attempt, Made& made, const shard::AppendResult& result);
  void CheckMismatch(const Attempt& attempt, Made& made, const shard::AppendResult& result);
  void CheckFencedEpoch(const Attempt& attempt, const Made& made,
                        const shard::AppendResult& result);
  // Whether a log may hold more batches behind it than are remembered: a producer counts those
  // without an outcome, and not from the oldest of them on.
  bool IsFarBehind(const Made& made) const;
  // The epoch of the answer is over. What its leader did not have may be in the log all the same,
  // by the leader after it.
  bool IsDeposed(PartitionId partition, const shard::AppendResult& result) const;

  Failure& failure_;
  Statistics& statistics_;
  Oracle& oracle_;
  const int64_t expiry_ms_;
  std::map<PartitionId, Model> models_;
  std::map<uint64_t, Made> made_;
  // Those that are under way.
  std::map<uint64_t, Attempt> attempts_;
  uint64_t last_attempt_ = 0;
  // The sequences that were made in each epoch of each producer.
  std::map<std::pair<int64_t, int32_t>, std::set<int64_t>> sequences_;
  std::map<int64_t, int64_t> ids_;
  std::set<std::tuple<PartitionId, int64_t, int32_t>> bound_;
  std::vector<Answer> answers_;
  std::vector<std::pair<PartitionId, ProducerBinding>> bindings_;
};

}  // namespace quorum::sim

// ClientOracle: what clients are told (I9, I14, I18). Every append is one attempt with a payload of
// its own, and ends as committed, refused or unknown, once. Committed ones are in the log at their
// offset, exactly once, and were committed when the answer came; refused ones never are; unknown
// ones may be, at most once. The conditions of all that are in the log hold where they are; who is
// told that his does not hold is told the truth. Readers see a contiguous run of what is committed
// and nothing else.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/record_batch.h"
#include "service/shard/client_calls.h"
#include "tests/sim/conditions.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {

// The payload of a record: who sent it, as 16 hexadecimal digits, then filling.
std::string EncodePayload(uint64_t attempt, size_t size);
// 0 when the bytes are no payload.
uint64_t DecodePayload(const std::string& payload);

class ClientOracle {
 public:
  ClientOracle(Failure* failure, Statistics* statistics, Oracle* oracle)
      : failure_(*failure), statistics_(*statistics), oracle_(*oracle) {}

  // A client sends `records` records of payload `attempt`, perhaps under conditions.
  void OnAppendSent(uint64_t attempt, PartitionId partition, int records,
                    const AppendConditions& conditions);
  void OnAppendDone(uint64_t attempt, const shard::AppendResult& result);
  // The process that was asked is gone, or never answered: the outcome is unknown.
  void OnAppendLost(uint64_t attempt);

  void OnRead(NodeId node, PartitionId partition, Offset from, const shard::ReadResult& result);
  void OnDescribe(NodeId node, const shard::PartitionDescription& description);

  // A round is over: what was answered in it is compared with what is committed by now.
  void AfterRound();
  // The run is over: the logs hold what they will ever hold.
  void Finish();

 private:
  enum class Outcome { kPending, kCommitted, kRefused, kUnknown };
  struct Attempt {
    PartitionId partition;
    int records = 0;
    AppendConditions conditions;
    Outcome outcome = Outcome::kPending;
    Offset base_offset;
    Epoch epoch;
    // What was committed when it was sent: it cannot lie below.
    Offset sent_at;
    int found = 0;
  };
  struct Shown {
    NodeId node;
    PartitionId partition;
    Offset from;
    shard::ReadResult result;
  };

  void CheckAcknowledged(uint64_t id, const Attempt& attempt);
  // Of an append that is in the log.
  void CheckConditions(uint64_t id, const Attempt& attempt);
  void CheckMismatch(const Attempt& attempt, const shard::AppendResult& result);
  void CheckShown(const Shown& shown);
  void Account(PartitionId partition, const RecordBatch& batch);
  void CheckOutcome(uint64_t id, const Attempt& attempt);

  Failure& failure_;
  Statistics& statistics_;
  Oracle& oracle_;
  std::map<uint64_t, Attempt> attempts_;
  std::vector<uint64_t> acknowledged_;
  // Told that their condition does not hold.
  std::vector<std::pair<uint64_t, shard::AppendResult>> mismatched_;
  std::vector<Shown> shown_;
};

}  // namespace quorum::sim

// NodeObserver: what a shard of the daemon lets others see: numbers, log lines and the trace. Each
// log line about a partition begins with the same prefix:
//
//   [p=orders:0 e=5 Leader hw=90 leo=98] was Candidate: majority; leader=1
//
// One INFO line a role change; lines that a peer can cause are bounded per second, and what was
// left out is counted.
//
// Thread: the shard's; made and destroyed while it does not run.

#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/trace.h"
#include "service/server/shard_stats.h"
#include "service/server/trace_file.h"
#include "service/shard/shard_config.h"
#include "service/transport/leader_hints.h"

namespace quorum::server {

// Lets a number of lines through each second.
class LineLimit {
 public:
  static constexpr size_t kLinesPerSecond = 100;

  // True when the line may be written. The first line of a new second learns in `left_out` how many
  // were not written before it.
  bool Allow(MonoTime now, size_t* left_out);

 private:
  MonoTime second_began_;
  size_t lines_ = 0;
  size_t left_out_ = 0;
};

class NodeObserver : public shard::ShardObserver {
 public:
  struct Outputs {
    // The name of a topic; called on the shard's thread.
    std::function<std::string(TopicId)> topic_name;
    // Where others look up who leads. May be null, as may the trace.
    transport::LeaderHints* hints = nullptr;
    TraceFile* trace = nullptr;
  };

  // All outlive the observer.
  NodeObserver(ShardStats* stats, const Clock* clock, Outputs outputs);

  void OnTrace(PartitionId partition, const raft::TraceEvent& event) override;
  void OnQuarantine(PartitionId partition, const std::string& reason) override;
  void OnReplicas(size_t open) override;
  void OnAppend(size_t records, size_t bytes) override;
  void OnRefusal(raft::RaftError error) override;
  void OnDamagedFetch(PartitionId partition, const ReplicaKey& leader) override;
  void OnAppendJudged(shard::AppendRefusal refusal) override;

  // Forgets what is kept of partitions for which `open` is false.
  void Forget(const std::function<bool(PartitionId)>& open);

 private:
  std::string Prefix(PartitionId partition, const raft::TraceEvent& event) const;
  // True when one more line about a partition may be written.
  bool AllowLine();
  void LogEvent(PartitionId partition, const raft::TraceEvent& event);

  ShardStats& stats_;
  const Clock& clock_;
  const Outputs outputs_;
  LineLimit limit_;
  absl::flat_hash_map<PartitionId, Offset> high_watermarks_;
};

// The counter of a refusal; kNone is none.
size_t RefusalIndex(raft::RaftError error);

}  // namespace quorum::server

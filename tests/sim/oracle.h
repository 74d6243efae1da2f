// Oracle: checks the safety invariants of protocol.md 5.3 from outside of the product, after every
// round of every shard:
//
//   I1 one leader per epoch; I2 one vote per epoch, across lives; I3 no epoch is led in two lives;
//   I4 no message leaves before the epoch that it speaks of is on disk; I5 log matching; I6 leader
//   completeness; I7 watermarks only rise; I8 a majority holds on disk what is committed; I10 no
//   committed record is truncated; I11 no watermark before the epoch's own first record; I9, I14
//   and I18, what clients are told, in the files oracle_clients.*; the claims of fetch sessions in
//   oracle_sessions.*.
//
//   oracle.cc            the life of nodes and replicas, the writes that they submit and sync
//   oracle_elections.cc  I1 to I4
//   oracle_commits.cc    I5 to I8, I10, I11
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "service/base/ids.h"
#include "service/raft/replica.h"
#include "service/raft/trace.h"
#include "storage/api/write_set.h"
#include "storage/memory/memory_image.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle_state.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {

// A process on a directory.
struct ProcessId {
  ReplicaKey key;
  uint64_t life = 0;
};

class Oracle {
 public:
  // The replica of a partition in the running process of `node`, or null.
  using FindReplica = std::function<const raft::Replica*(NodeId, PartitionId)>;

  Oracle(Failure* failure, Statistics* statistics, FindReplica find_replica)
      : failure_(*failure), statistics_(*statistics), find_replica_(std::move(find_replica)) {}

  // --- what the world does ---

  void OnPartition(PartitionId partition, const VoterSet& voters);
  // The directory holds `__metadata` from its formatting on.
  void OnFounded(const ReplicaKey& key);
  // The process ended; `image` is what its disk holds.
  void OnStopped(const ReplicaKey& key, const storage::MemoryImage& image);
  // A new process runs on what `image` holds. `synced` is false when recovery has left a tail of
  // it in the page cache.
  void OnStarted(const ProcessId& process, const storage::MemoryImage& image, bool synced);
  void OnWiped(const ReplicaKey& key);
  void OnDamaged(const ReplicaKey& key, PartitionId partition);

  // --- what the product does ---

  void OnSubmit(const ProcessId& process, const storage::WriteSet& set);
  void OnSynced(const ProcessId& process, const storage::WriteSet& set);
  void OnTrace(const ProcessId& process, PartitionId partition, const raft::TraceEvent& event);
  void OnMessageLeaves(const ProcessId& process, PartitionId partition);
  void OnVoteLeaves(const ProcessId& process, PartitionId partition, Epoch epoch,
                    const ReplicaKey& candidate);
  // A round of a shard is over. Checks the partitions that were touched in it.
  void AfterRound(const ProcessId& process);
  // Checks one replica, touched or not.
  void CheckReplica(const ProcessId& process, PartitionId partition);

  // --- for other checkers ---

  const ReplicaLog& Committed(PartitionId partition) { return partitions_[partition].committed; }
  const std::map<PartitionId, PartitionView>& partitions() const { return partitions_; }

 private:
  void Apply(const ProcessId& process, const storage::Write& write);
  void ApplyDurable(const ProcessId& process, const storage::Write& write);
  void SubmitBatch(const ProcessId& process, PartitionId partition, const RecordBatch& batch);
  void SubmitTruncation(const ProcessId& process, PartitionId partition, Offset end);
  void NameBatch(PartitionId partition, PartitionView& view, const ReplicaLog& log,
                 const RecordBatch& batch);
  void ForgetName(PartitionView& view, const RecordBatch& batch, bool lost);
  void Reload(const ReplicaKey& key, const storage::MemoryImage& image);

  void NoteLeader(const ProcessId& process, PartitionId partition, Epoch epoch);
  void NoteVote(const ProcessId& process, PartitionId partition, Epoch epoch,
                const ReplicaKey& candidate);
  void CheckLeadership(const ProcessId& process, PartitionId partition,
                       const raft::Replica& replica);
  void CheckEnds(const ProcessId& process, PartitionId partition, const raft::Replica& replica,
                 ReplicaView& view);
  void CheckCompleteness(const ProcessId& process, PartitionId partition, Epoch epoch);
  void CheckCommit(const ProcessId& process, PartitionId partition, const raft::Replica& replica,
                   ReplicaView& view);
  // The records of `view` below `committed` are committed from now on.
  void TakeCommitted(PartitionId partition, const ProcessId& process, ReplicaView& view,
                     Offset committed, Epoch epoch);
  void CheckMajority(PartitionId partition, const raft::Replica& replica, const RecordBatch& last);

  Failure& failure_;
  Statistics& statistics_;
  const FindReplica find_replica_;
  std::map<PartitionId, PartitionView> partitions_;
  std::set<PartitionId> touched_;
  // Who won an election in this round, and in which epoch.
  std::map<PartitionId, Epoch> elected_;
  // The highest watermark that a leader has set in this round; it may have lost its role since.
  std::map<PartitionId, Offset> led_commits_;
};

// "[1:0]" and "2/abcd", for failure texts.
std::string ToText(PartitionId partition);
std::string ToText(const ReplicaKey& key);

}  // namespace quorum::sim

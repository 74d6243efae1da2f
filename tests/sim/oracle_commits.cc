// I5 to I8, I10 and I11: what is committed, who holds it, and who shows it.

#include <algorithm>

#include "tests/sim/oracle.h"

namespace quorum::sim {

// A leader holds what was committed in earlier epochs. What a later one committed meanwhile it need
// not hold: votes that were given in time may be counted late.
void Oracle::CheckCompleteness(const ProcessId& process, PartitionId partition, Epoch epoch) {
  const PartitionView& view = partitions_[partition];
  const auto found = view.replicas.find(process.key);
  if (found == view.replicas.end()) return;
  const ReplicaLog& log = found->second.submitted;
  for (size_t i = 0; i < view.committed.size(); ++i) {
    if (view.committed_in[i] >= epoch) return;
    if (i < log.size() && IsSame(log[i], view.committed[i])) continue;
    failure_.Report("I6", ToText(partition), " ", ToText(process.key),
                    " was elected without the committed record at ",
                    view.committed[i].base_offset().value());
    return;
  }
}

void Oracle::CheckReplica(const ProcessId& process, PartitionId partition) {
  const raft::Replica* replica = find_replica_(process.key.id, partition);
  if (replica == nullptr || replica->quarantine().has_value()) return;
  ReplicaView& view = partitions_[partition].replicas[process.key];
  CheckLeadership(process, partition, *replica);
  CheckEnds(process, partition, *replica, view);
  CheckCommit(process, partition, *replica, view);
}

void Oracle::CheckEnds(const ProcessId& process, PartitionId partition,
                       const raft::Replica& replica, ReplicaView& view) {
  if (replica.log().end() != view.submitted.end()) {
    failure_.Report("log", ToText(partition), " ", ToText(process.key), " believes to end at ",
                    replica.log().end().value(), " and has written up to ",
                    view.submitted.end().value());
  }
  if (replica.log().durable_end() > view.TrueDurableEnd()) {
    failure_.Report("I8", ToText(partition), " ", ToText(process.key), " counts ",
                    replica.log().durable_end().value(), " as durable; on its disk is ",
                    view.TrueDurableEnd().value());
  }
  if (replica.committed() < view.committed || replica.exposed() < view.exposed) {
    failure_.Report("I7", ToText(partition), " the watermark of ", ToText(process.key),
                    " fell from ", view.committed.value(), " to ", replica.committed().value());
  }
  if (replica.committed() > replica.log().end() || replica.exposed() > replica.committed()) {
    failure_.Report("I7", ToText(partition), " the watermark of ", ToText(process.key),
                    " lies beyond its log");
  }
}

void Oracle::CheckCommit(const ProcessId& process, PartitionId partition,
                         const raft::Replica& replica, ReplicaView& view) {
  const Offset committed = replica.committed();
  view.exposed = replica.exposed();
  if (committed <= view.committed) return;
  const ReplicaLog& known = partitions_[partition].committed;
  const RecordBatch* last = view.submitted.EndingAt(committed);
  if (last == nullptr) {
    failure_.Report("I7", ToText(partition), " the watermark ", committed.value(), " of ",
                    ToText(process.key), " is no batch border");
    return;
  }
  const auto led = led_commits_.find(partition);
  const bool leads = led != led_commits_.end() && led->second >= committed;
  if (leads) CheckMajority(partition, replica, *last);
  if (!leads && committed > known.end()) {
    failure_.Report("I5", ToText(partition), " ", ToText(process.key), " shows ", committed.value(),
                    "; committed is ", known.end().value());
  }
  TakeCommitted(partition, process, view, committed, replica.election().epoch);
}

void Oracle::TakeCommitted(PartitionId partition, const ProcessId& process, ReplicaView& view,
                           Offset committed, Epoch epoch) {
  PartitionView& all = partitions_[partition];
  ReplicaLog& known = all.committed;
  for (size_t i = view.submitted.CountBelow(view.committed); i < view.submitted.size(); ++i) {
    const RecordBatch& batch = view.submitted[i];
    if (batch.next_offset() > committed) break;
    if (i < known.size()) {
      if (!IsSame(known[i], batch)) {
        failure_.Report("I5", ToText(partition), " ", ToText(process.key),
                        " shows another record at ", batch.base_offset().value(),
                        " than was committed");
      }
    } else {
      if (!known.Append(batch)) break;
      all.committed_in.push_back(epoch);
      statistics_.Add(Counter::kCommittedRecords, batch.record_count());
    }
  }
  view.committed = committed;
}

void Oracle::CheckMajority(PartitionId partition, const raft::Replica& replica,
                           const RecordBatch& last) {
  // A leader that lost its epoch in the same round is in a later one by now.
  const bool still_leads = replica.role() == raft::RoleKind::kLeader;
  if (still_leads && last.epoch() != replica.election().epoch) {
    failure_.Report("I11", ToText(partition), " the watermark of epoch ",
                    replica.election().epoch.value(), " stands at ", last.next_offset().value(),
                    ", where the records are of epoch ", last.epoch().value());
  }
  const VoterSet& voters = replica.voters().Latest();
  size_t holders = 0;
  for (const Voter& voter : voters) {
    const auto& replicas = partitions_[partition].replicas;
    const auto found = replicas.find(voter.key);
    if (found == replicas.end()) continue;
    for (const ReplicaLog* log : {&found->second.durable, &found->second.held_until}) {
      const RecordBatch* held = log->EndingAt(last.next_offset());
      if (held == nullptr || !IsSame(*held, last)) continue;
      ++holders;
      break;
    }
  }
  if (holders < voters.Majority()) {
    failure_.Report("I8", ToText(partition), " epoch ", replica.election().epoch.value(),
                    " commits up to ", last.next_offset().value(), "; it is on the disks of ",
                    holders, " of ", voters.size(), " voters");
  }
}

}  // namespace quorum::sim

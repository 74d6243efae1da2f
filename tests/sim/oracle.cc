#include "tests/sim/oracle.h"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/overloaded.h"
#include "storage/layout/image.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/value_codec.h"

namespace quorum::sim {
namespace {

using storage::ColumnFamily;

// The log of one partition as it lies on the disk; empty when a batch of it is damaged.
std::optional<ReplicaLog> ReadLog(const storage::MemoryImage& image, PartitionId partition) {
  ReplicaLog log;
  const storage::MemoryImage::Family& family = image.family(ColumnFamily::kLog);
  const auto end = family.lower_bound(storage::PartitionEndKey(partition));
  for (auto it = family.lower_bound(storage::PartitionKey(partition)); it != end; ++it) {
    const auto batch = RecordBatch::Parse(partition, it->second);
    if (!batch.ok() || !log.Append(*batch)) return std::nullopt;
  }
  return log;
}

std::optional<ElectionState> ReadElection(const storage::MemoryImage& image,
                                          PartitionId partition) {
  const std::string key = storage::PartitionKey(partition);
  const storage::MemoryImage::Family& family = image.family(ColumnFamily::kQuorumState);
  const auto found = family.find(key);
  if (found == family.end()) return std::nullopt;
  const auto election = storage::DecodeElection({ColumnFamily::kQuorumState, key}, found->second);
  return election.ok() ? std::optional<ElectionState>(*election) : std::nullopt;
}

PartitionId PartitionOf(const storage::Write& write) {
  return std::visit(Overloaded{
                        [](const storage::PutCatalogPosition&) { return PartitionId(); },
                        [](const auto& other) { return other.partition; },
                    },
                    write);
}

size_t CountAgreed(const ReplicaLog& a, const ReplicaLog& b) {
  size_t agreed = 0;
  while (agreed < a.size() && agreed < b.size() && IsSame(a[agreed], b[agreed])) ++agreed;
  return agreed;
}

}  // namespace

std::string ToText(PartitionId partition) {
  return absl::StrCat("[", partition.topic.value(), ":", partition.index, "]");
}

std::string ToText(const ReplicaKey& key) {
  return absl::StrCat(key.id.value(), "/", key.directory.high & 0xffff);
}

void Oracle::OnPartition(PartitionId partition, const VoterSet& voters) {
  partitions_[partition].voters = voters;
}

void Oracle::OnFounded(const ReplicaKey& key) { partitions_[kMetadataPartition].replicas[key]; }

void Oracle::Reload(const ReplicaKey& key, const storage::MemoryImage& image) {
  for (auto& [id, view] : partitions_) {
    const auto found = view.replicas.find(key);
    if (found == view.replicas.end()) continue;
    ReplicaView& replica = found->second;
    std::optional<ReplicaLog> log = ReadLog(image, id);
    // What is damaged was synced once; it goes on standing for what it promised.
    if (!log.has_value()) log = replica.durable;
    for (size_t i = CountAgreed(replica.submitted, *log); i < replica.submitted.size(); ++i) {
      ForgetName(view, replica.submitted[i], true);
    }
    replica.durable = *std::move(log);
    replica.submitted = replica.durable;
    replica.agreed = replica.durable.size();
    replica.durable_election = ReadElection(image, id);
    replica.submitted_epoch =
        replica.durable_election.has_value() ? replica.durable_election->epoch : Epoch(0);
    replica.committed = Offset(0);
    replica.exposed = Offset(0);
    // What is on the disk was led in a life that is over; it may have been in the page cache only.
    const std::optional<ElectionState>& election = replica.durable_election;
    if (election.has_value() && election->leader == key) {
      view.leaders.try_emplace(election->epoch, Leadership{key, 0, true});
    }
  }
}

void Oracle::OnStopped(const ReplicaKey& key, const storage::MemoryImage& image) {
  for (auto& [id, view] : partitions_) {
    // A leadership that never reached the disk was never spoken of: it did not happen.
    for (auto it = view.leaders.begin(); it != view.leaders.end();) {
      const bool lost = it->second.leader == key && !it->second.firm;
      it = lost ? view.leaders.erase(it) : std::next(it);
    }
  }
  Reload(key, image);
}

void Oracle::OnStarted(const ProcessId& process, const storage::MemoryImage& image, bool synced) {
  std::map<PartitionId, ReplicaLog> before;
  for (auto& [id, view] : partitions_) {
    const auto found = view.replicas.find(process.key);
    if (found != view.replicas.end()) before[id] = found->second.durable;
  }
  Reload(process.key, image);
  if (synced) return;
  // Only what was on the platter before counts; the rest is in a page cache.
  for (auto& [id, log] : before) {
    ReplicaView& replica = partitions_[id].replicas[process.key];
    replica.durable = log;
    replica.agreed = CountAgreed(replica.submitted, replica.durable);
  }
}

void Oracle::OnWiped(const ReplicaKey& key) {
  for (auto& [id, view] : partitions_) {
    const auto found = view.replicas.find(key);
    if (found != view.replicas.end()) found->second.gone = true;
  }
}

void Oracle::OnDamaged(const ReplicaKey& key, PartitionId partition) {
  partitions_[partition].replicas[key].damaged = true;
}

void Oracle::OnSubmit(const ProcessId& process, const storage::WriteSet& set) {
  for (const storage::Write& write : set.writes) {
    touched_.insert(PartitionOf(write));
    Apply(process, write);
  }
}

void Oracle::OnSynced(const ProcessId& process, const storage::WriteSet& set) {
  for (const storage::Write& write : set.writes) ApplyDurable(process, write);
}

void Oracle::Apply(const ProcessId& process, const storage::Write& write) {
  std::visit(
      Overloaded{
          [&](const storage::AppendBatch& append) {
            SubmitBatch(process, append.partition, append.batch);
          },
          [&](const storage::TruncateLog& cut) {
            SubmitTruncation(process, cut.partition, cut.end);
          },
          [&](const storage::PutElectionState& put) {
            partitions_[put.partition].replicas[process.key].submitted_epoch = put.election.epoch;
          },
          [&](const storage::BirthReplica& birth) {
            ReplicaView& view = partitions_[birth.partition].replicas[process.key];
            view.submitted_epoch = birth.election.epoch;
            if (view.submitted.size() > 0) {
              failure_.Report("birth", ToText(birth.partition), " ", ToText(process.key),
                              " is born on top of a log");
            }
          },
          [&](const storage::BuryReplica& burial) {
            ReplicaView& view = partitions_[burial.partition].replicas[process.key];
            // What it committed as a leader in this very round stays.
            const auto led = led_commits_.find(burial.partition);
            if (led != led_commits_.end()) {
              TakeCommitted(burial.partition, process, view, led->second, view.submitted_epoch);
            }
            (void)view.submitted.TruncateTo(Offset(0));
            view.agreed = 0;
            view.committed = Offset(0);
            view.exposed = Offset(0);
            view.held_until = view.durable;
          },
          [](const auto&) {},
      },
      write);
}

void Oracle::ApplyDurable(const ProcessId& process, const storage::Write& write) {
  const PartitionId partition = PartitionOf(write);
  if (partition == PartitionId()) return;
  ReplicaView& view = partitions_[partition].replicas[process.key];
  std::visit(
      Overloaded{
          [&](const storage::AppendBatch& append) {
            (void)view.durable.Append(append.batch);
            const size_t last = view.durable.size() - 1;
            if (view.agreed == last && view.submitted.size() > last &&
                IsSame(view.submitted[last], append.batch)) {
              ++view.agreed;
            }
          },
          [&](const storage::TruncateLog& cut) {
            (void)view.durable.TruncateTo(cut.end);
            view.agreed = std::min(view.agreed, view.durable.size());
          },
          [&](const storage::PutElectionState& put) {
            view.durable_election = put.election;
            auto& leaders = partitions_[partition].leaders;
            const auto led = leaders.find(put.election.epoch);
            const bool leads = put.election.leader == process.key;
            if (leads && led != leaders.end()) led->second.firm = true;
          },
          [&](const storage::BirthReplica& birth) { view.durable_election = birth.election; },
          [&](const storage::BuryReplica&) {
            (void)view.durable.TruncateTo(Offset(0));
            view.agreed = 0;
          },
          [](const auto&) {},
      },
      write);
}

void Oracle::SubmitBatch(const ProcessId& process, PartitionId partition,
                         const RecordBatch& batch) {
  PartitionView& view = partitions_[partition];
  ReplicaView& replica = view.replicas[process.key];
  if (!replica.submitted.Append(batch)) {
    failure_.Report("log", ToText(partition), " ", ToText(process.key), " appends at ",
                    batch.base_offset().value(), " to a log that ends at ",
                    replica.submitted.end().value());
    return;
  }
  NameBatch(partition, view, replica.submitted, batch);
}

void Oracle::SubmitTruncation(const ProcessId& process, PartitionId partition, Offset end) {
  PartitionView& view = partitions_[partition];
  ReplicaView& replica = view.replicas[process.key];
  statistics_.Add(Counter::kTruncations);
  if (end < replica.committed) {
    failure_.Report("P6", ToText(partition), " ", ToText(process.key), " truncates at ",
                    end.value(), " what it knows to be committed up to ",
                    replica.committed.value());
  }
  std::set<Epoch> epochs;
  for (size_t i = replica.submitted.CountBelow(end); i < replica.submitted.size(); ++i) {
    const RecordBatch& removed = replica.submitted[i];
    epochs.insert(removed.epoch());
    const RecordBatch* committed = view.committed.StartingAt(removed.base_offset());
    // What a later epoch committed meanwhile was not counted on this replica, which has not joined
    // that epoch: it may still cut its copy at the word of the leader that it follows, and gets the
    // record again.
    const bool counted = committed != nullptr &&
                         view.committed_in[view.committed.CountBelow(removed.base_offset())] <=
                             replica.submitted_epoch;
    if (counted && IsSame(*committed, removed)) {
      failure_.Report("I10", ToText(partition), " ", ToText(process.key),
                      " truncates the committed record at ", removed.base_offset().value());
    }
    ForgetName(view, removed, false);
  }
  if (epochs.size() > 1) statistics_.Add(Counter::kLongTruncations);
  if (!replica.submitted.TruncateTo(end)) {
    failure_.Report("log", ToText(partition), " ", ToText(process.key), " truncates at ",
                    end.value(), ", which is no batch border");
  }
  replica.agreed = std::min(replica.agreed, replica.submitted.size());
}

void Oracle::NameBatch(PartitionId partition, PartitionView& view, const ReplicaLog& log,
                       const RecordBatch& batch) {
  const Epoch previous = log.size() < 2 ? Epoch(0) : log[log.size() - 2].epoch();
  const auto [found, added] = view.names.try_emplace(
      std::make_pair(batch.base_offset().value(), batch.epoch()), NamedBatch{batch, previous, 0});
  ++found->second.holders;
  if (added) return;
  if (!IsSame(found->second.batch, batch)) {
    failure_.Report("I5", ToText(partition), " two records are called offset ",
                    batch.base_offset().value(), " of epoch ", batch.epoch().value());
  }
  if (found->second.previous != previous) {
    failure_.Report("I5", ToText(partition), " the record at ", batch.base_offset().value(),
                    " of epoch ", batch.epoch().value(), " has two predecessors");
  }
}

void Oracle::ForgetName(PartitionView& view, const RecordBatch& batch, bool lost) {
  const auto found = view.names.find(std::make_pair(batch.base_offset().value(), batch.epoch()));
  if (found == view.names.end()) return;
  // A record that a crash took from the only log that held it may never have been.
  if (--found->second.holders <= 0 && lost) view.names.erase(found);
}

void Oracle::AfterRound(const ProcessId& process) {
  for (const auto& [partition, epoch] : elected_) CheckCompleteness(process, partition, epoch);
  elected_.clear();
  for (const PartitionId& partition : touched_) CheckReplica(process, partition);
  touched_.clear();
  led_commits_.clear();
}

}  // namespace quorum::sim

// CatalogOracle: what the committed records of `__metadata` say should be, replayed apart from the
// nodes, and what follows from it for each of them (architecture.md 7):
//
//   * every committed record makes sense where it stands: ids are never reused, names are unique;
//   * nodes that have read equally far hold the same catalog, and nobody has read further than what
//     is committed;
//   * a replica is born only where a committed record assigns the partition, and starts from the
//     first voters only where that record names it by exact key and its directory never held it;
//   * a replica is buried only when a committed record has deleted its partition.
//
// It is also where faults and clients look up what exists.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/controller/catalog.h"
#include "storage/api/write_set.h"
#include "storage/memory/memory_image.h"
#include "tests/sim/failure.h"
#include "tests/sim/oracle.h"
#include "tests/sim/statistics.h"

namespace quorum::sim {

// What is committed about one partition.
struct PartitionFact {
  // The replicas that are voters, the preferred leader first.
  std::vector<ReplicaKey> voters;
  // Its own first record is committed, says the catalog.
  bool created = false;

  bool NamesNode(NodeId node) const;
  bool NamesVoter(const ReplicaKey& key) const;
};

// What is committed about one topic, whether or not it still exists.
struct TopicFact {
  std::string name;
  // The catalog offsets of its first and of its last record.
  Offset created_at;
  std::optional<Offset> deleted_at;
};

class CatalogOracle {
 public:
  using OnPartition = std::function<void(PartitionId, const PartitionFact&)>;

  CatalogOracle(Failure* failure, Statistics* statistics, Oracle* oracle)
      : failure_(*failure), statistics_(*statistics), oracle_(*oracle) {}

  // `__metadata` has these first voters.
  void OnFounded(const std::vector<ReplicaKey>& voters);
  // Called for each partition, when the record that creates it is committed, and again when the one
  // that calls it created is.
  void SetObserver(OnPartition on_partition) { on_partition_ = std::move(on_partition); }

  // Takes in what has been committed since the last call.
  void Advance();
  // The controller of the node has run a round.
  void CheckNode(NodeId node, const controller::Catalog& catalog);
  void OnSubmit(const ProcessId& process, const storage::WriteSet& set);
  // A process starts on what `image` holds: births that a crash took did not happen.
  void OnStarted(const ReplicaKey& key, const storage::MemoryImage& image);
  // The run is over.
  void Finish();

  // Everything that exists, `__metadata` included.
  const std::map<PartitionId, PartitionFact>& partitions() const { return partitions_; }
  // What has been deleted, for ever.
  const std::map<PartitionId, PartitionFact>& deleted() const { return deleted_; }
  const std::map<TopicId, TopicFact>& topics() const { return topics_; }
  const controller::Catalog& catalog() const { return catalog_; }
  Offset position() const { return catalog_.position(); }
  // The replica has been born on that directory.
  bool WasBorn(PartitionId partition, const ReplicaKey& key) const {
    return born_.count({partition, key}) > 0;
  }

 private:
  void Apply(Offset offset, const controller::CatalogRecord& record);
  void OnTopic(Offset offset, const controller::Topic& topic);
  void OnDeletion(Offset offset, const controller::TopicDeletion& deletion);
  void OnPlan(const controller::PartitionPlan& plan);
  void CheckBirth(const ProcessId& process, const storage::BirthReplica& birth);
  void CheckBurial(const ProcessId& process, const storage::BuryReplica& burial);
  // A birth that breaks the rules is told at the end only, so that what it leads to has the chance
  // to be found before.
  void NoteBadBirth(const ProcessId& process, PartitionId partition, const char* what);

  Failure& failure_;
  Statistics& statistics_;
  Oracle& oracle_;
  OnPartition on_partition_;
  // Batches of the committed log that have been taken in.
  size_t taken_ = 0;
  controller::Catalog catalog_;
  std::map<PartitionId, PartitionFact> partitions_;
  std::map<PartitionId, PartitionFact> deleted_;
  std::map<TopicId, TopicFact> topics_;
  std::set<std::pair<PartitionId, ReplicaKey>> born_;
  std::map<NodeId, Offset> compared_;
  std::string bad_birth_;
};

VoterSet MakeVoterSet(const std::vector<ReplicaKey>& keys);

}  // namespace quorum::sim

// Catalog: what the committed records of `__metadata` say *should be*: nodes, topics, partitions
// and their assignment (architecture.md 7). What *is*, each partition's own log says. A Catalog is
// a pure function of the records below `position`: every node that has read as far holds the same
// one.
//
// Guarantees:
//   1. topic ids and producer ids are never reused: next_topic_id and next_producer_id are above
//      every id that was ever in a record, and never fall;
//   2. names are unique among the topics that exist;
//   3. a partition is in the catalog exactly as long as its topic is.
//
// Thread: a plain value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "service/base/ids.h"

namespace quorum::controller {

struct ListenerEndpoint {
  std::string listener;
  std::string address;

  friend bool operator==(const ListenerEndpoint& a, const ListenerEndpoint& b) {
    return a.listener == b.listener && a.address == b.address;
  }
};

// A process that has registered (KIP-631).
struct Broker {
  ReplicaKey key;
  Incarnation incarnation;
  std::vector<ListenerEndpoint> endpoints;
  std::string software_version;

  friend bool operator==(const Broker& a, const Broker& b) {
    return a.key == b.key && a.incarnation == b.incarnation && a.endpoints == b.endpoints &&
           a.software_version == b.software_version;
  }
};

struct Topic {
  TopicId id;
  std::string name;
  uint32_t partition_count = 0;
  uint32_t replica_count = 0;
};

enum class PartitionLife {
  // Replicas named by exact key, on a directory that never held the partition, start from the
  // assignment.
  kCreating,
  // The first voter set is committed in the partition's own log; a new replica starts blank.
  kCreated,
};

struct PartitionPlan {
  PartitionId id;
  // The replicas that shall be voters, the preferred leader first.
  std::vector<ReplicaKey> assignment;
  PartitionLife life = PartitionLife::kCreating;
  // The offset of the record that created the partition.
  Offset created_at;
  // The offset of its newest record.
  Offset version;
};

struct TopicDeletion {
  TopicId id;
  std::string name;
};

// The ids that were never used. One record holds both, so whoever raises one repeats the other.
struct NextIds {
  TopicId topic{2};
  // Below kNamedProducerIds.
  int64_t producer = 0;
};

// One committed record of the catalog, decoded (catalog_records.h).
using CatalogRecord = std::variant<Broker, Topic, PartitionPlan, TopicDeletion, NextIds>;

class Catalog {
 public:
  // Applies the record at `offset`. Records that contradict the guarantees are a defect of the
  // controller that wrote them; they CHECK-fail nothing and change nothing (false).
  bool Apply(Offset offset, const CatalogRecord& record);
  // Everything below `position` has been applied.
  void AdvanceTo(Offset position) { position_ = position; }

  Offset position() const { return position_; }
  TopicId next_topic_id() const { return next_.topic; }
  int64_t next_producer_id() const { return next_.producer; }

  const Topic* FindTopic(const std::string& name) const;
  const Topic* FindTopic(TopicId id) const;
  const PartitionPlan* FindPartition(PartitionId id) const;
  const Broker* FindBroker(NodeId id) const;

  const std::map<NodeId, Broker>& brokers() const { return brokers_; }
  const std::map<TopicId, Topic>& topics() const { return topics_; }
  const std::map<PartitionId, PartitionPlan>& partitions() const { return partitions_; }
  // Topics by name, in alphabetical order.
  const std::map<std::string, TopicId>& names() const { return names_; }

 private:
  bool ApplyRecord(Offset offset, const Broker& broker);
  bool ApplyRecord(Offset offset, const Topic& topic);
  bool ApplyRecord(Offset offset, const PartitionPlan& plan);
  bool ApplyRecord(Offset offset, const TopicDeletion& deletion);
  bool ApplyRecord(Offset offset, const NextIds& next);

  Offset position_;
  NextIds next_;
  std::map<NodeId, Broker> brokers_;
  std::map<TopicId, Topic> topics_;
  std::map<std::string, TopicId> names_;
  std::map<PartitionId, PartitionPlan> partitions_;
};

}  // namespace quorum::controller

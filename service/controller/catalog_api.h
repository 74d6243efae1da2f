// CatalogView and ControllerApi: the two interfaces through which the transport asks the catalog.
// The view is this node's own copy, which may be behind; the controller changes the catalog, on the
// node that leads `__metadata`.
//
// Thread: any, for every method. None blocks or calls gRPC. Completions run exactly once, on any
// thread, perhaps before the method returns, and must return at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/shard/client_calls.h"

namespace quorum::controller {

// --- What this node's copy of the catalog says
// ---------------------------------------------------------------------------------------------

struct PartitionView {
  // The replicas that shall be voters, the preferred leader first. Never empty.
  std::vector<ReplicaKey> assignment;
  // False while the first voter set is not committed in the partition's own log.
  bool created = false;
  // The catalog offset of the assignment.
  Offset plan_version;
};

// Immutable once handed out.
struct TopicView {
  TopicId id;
  std::string name;
  // What each partition was created with.
  uint32_t replica_count = 0;
  // A topic of the system: `__metadata`, which every view knows, also before it has read anything.
  bool internal = false;
  // By index.
  std::vector<PartitionView> partitions;
};

struct NodeEndpoint {
  std::string listener;
  std::string address;
};

// The process that registered last under a node id.
struct NodeView {
  ReplicaKey key;
  Incarnation incarnation;
  // Best first.
  std::vector<NodeEndpoint> endpoints;
  std::string software_version;
  // Whether the controller hears from it; absent on every other node.
  std::optional<bool> live;
};

struct CatalogCounts {
  // Without the topics of the system.
  uint32_t topics = 0;
  uint32_t partitions = 0;
};

class CatalogView {
 public:
  virtual ~CatalogView() = default;

  // Null when this copy has no such topic.
  virtual std::shared_ptr<const TopicView> FindTopic(const std::string& name) const = 0;
  virtual std::shared_ptr<const TopicView> FindTopic(TopicId id) const = 0;

  // Up to `count` topics whose names are above `after`, by name; topics of the system included.
  virtual std::vector<std::shared_ptr<const TopicView>> ListTopics(const std::string& after,
                                                                   size_t count) const = 0;

  // By node id.
  virtual std::vector<NodeView> Nodes() const = 0;
  // The process life of the replica key that has registered last; absent when none has, or another
  // directory of the node since.
  virtual std::optional<Incarnation> Registered(const ReplicaKey& key) const = 0;

  virtual CatalogCounts Counts() const = 0;
};

// --- What only the controller does
// ---------------------------------------------------------------------------------------------

enum class ControllerError {
  kNone,
  // This node does not lead `__metadata`: nothing was done. The hint names who may.
  kNotController,
  // A field is out of range; `message` says which. Nothing was done.
  kInvalidRequest,
  // `topic` is the one that exists.
  kTopicAlreadyExists,
  kUnknownTopic,
  // The topic belongs to the system.
  kInternalTopic,
  // `live_nodes` says how many there are.
  kNotEnoughNodes,
  // A bound is reached; nothing was done.
  kThrottled,
  kShuttingDown,
  // The change is perhaps committed: the deadline passed, or leadership was lost, after it was
  // appended.
  kOutcomeUnknown,
  // Registration only.
  kFencedIncarnation,
  kDuplicateRegistration,
  kInconsistentLaneCount,
};

struct ControllerResult {
  ControllerError error = ControllerError::kNone;
  // For people; empty when the error says it all.
  std::string message;
  // kInvalidRequest of a client: the field that is wrong, by its name in the request.
  std::string field;
  // The leader of `__metadata`, as far as this node knows.
  shard::LeaderHint hint;
  // CreateTopic: the topic made, or the one in the way.
  std::shared_ptr<const TopicView> topic;
  // DeleteTopic: the topic that was deleted.
  TopicId deleted;
  // AllocateProducerIds: the first id of the block.
  int64_t first_producer_id = 0;
  // kNotEnoughNodes.
  uint32_t live_nodes = 0;
  // The offset of the committed record.
  Offset catalog_offset;
};

using ControllerDone = std::function<void(ControllerResult)>;

struct TopicCreation {
  // Checked by the controller: 1 to 249 of [a-zA-Z0-9._-], not "." or "..", not beginning with
  // "__".
  std::string name;
  // Range [1, 10000].
  uint32_t partitions = 1;
  // At least 1. Absent: 3, or the number of live nodes where that is smaller.
  std::optional<uint32_t> replicas;
  MonoTime deadline = kNever;
};

struct TopicRemoval {
  std::string name;
  // Only the topic of this id.
  std::optional<TopicId> id;
  MonoTime deadline = kNever;
};

// Bounds of a registration: the catalog keeps it for ever, and every node repeats it to whoever
// asks for metadata.
inline constexpr size_t kEndpointsMax = 16;
inline constexpr size_t kEndpointTextMax = 255;
inline constexpr size_t kSoftwareVersionMax = 255;

struct BrokerRegistration {
  ReplicaKey key;
  // Range [1, shard::kIncarnationLimit).
  Incarnation incarnation;
  // 1 to kEndpointsMax; listener and address are at most kEndpointTextMax bytes each.
  std::vector<NodeEndpoint> endpoints;
  uint32_t lane_count = 0;
  // At most kSoftwareVersionMax bytes.
  std::string software_version;
  MonoTime deadline = kNever;
};

// A block of producer ids, for one process life: ids that were given to it and not used are lost.
struct ProducerIdAllocation {
  // Range [1, kProducerIdsMax].
  uint32_t count = 0;
  MonoTime deadline = kNever;
};

inline constexpr uint32_t kProducerIdsMax = 1'000'000;

class ControllerApi {
 public:
  virtual ~ControllerApi() = default;

  // Each is answered once its record is committed, at its deadline, or with the reason why nothing
  // was done.
  virtual void CreateTopic(TopicCreation creation, ControllerDone done) = 0;
  virtual void DeleteTopic(TopicRemoval removal, ControllerDone done) = 0;
  virtual void RegisterBroker(BrokerRegistration registration, ControllerDone done) = 0;
  virtual void AllocateProducerIds(ProducerIdAllocation allocation, ControllerDone done) = 0;
};

}  // namespace quorum::controller

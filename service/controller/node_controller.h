// NodeController: the part of a node that lives by the catalog. On every node it follows
// `__metadata`, opens and closes this node's replicas, and registers the process; on the node that
// leads `__metadata` it is the controller of the cluster. The same code runs on a thread of its own
// in production and step by step in the simulator.
//
//   NodeController controller(config, seams, wake);
//   controller.Open(local_replicas);
//   for (;;) { MonoTime next = controller.RunOnce(); /* sleep until `next`, or until `wake` was
//   called */ }
//
// Thread: the interfaces from any thread; Open and RunOnce from the controller's thread only. It
// must outlive every completion of the calls that it made.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/controller/catalog_api.h"
#include "service/controller/controller_link.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard_api.h"

namespace quorum::controller {

struct ControllerConfig;
struct ControllerSeams;
struct ControllerState;
class Catalog;

// What the disk holds when the process starts.
struct LocalReplicas {
  // Replicas that the shards have opened.
  std::vector<PartitionId> open;
  // What is remembered of replicas that were buried.
  std::map<PartitionId, ElectionState> tombstones;
  // The catalog has been acted on below this offset.
  Offset catalog_position;
};

class NodeController : public ControllerApi {
 public:
  // `wake` is called, from any thread, when there is work for a controller that sleeps.
  NodeController(const ControllerConfig& config, const ControllerSeams& seams,
                 std::function<void()> wake);
  ~NodeController() override;
  NodeController(const NodeController&) = delete;
  NodeController& operator=(const NodeController&) = delete;

  // Once, before the first round.
  void Open(const LocalReplicas& replicas);

  // One round. Returns when the next one is due at the latest.
  MonoTime RunOnce();

  void CreateTopic(TopicCreation creation, ControllerDone done) override;
  void DeleteTopic(TopicRemoval removal, ControllerDone done) override;
  void RegisterBroker(BrokerRegistration registration, ControllerDone done) override;
  void AllocateProducerIds(ProducerIdAllocation allocation, ControllerDone done) override;

  // The catalog as far as this node has read it; lives as long as the controller.
  const CatalogView& view() const;

  // For the simulator's checks, on the controller's thread.
  const Catalog& catalog() const;
  bool leads() const;
  bool caught_up() const;
  // The cluster knows this process: it counts as a node to place replicas on.
  bool registered() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quorum::controller

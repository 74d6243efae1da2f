// Front: everything of a node that answers gRPC calls: the listener and the services behind it, our
// own, health and reflection.
//
// Thread: Start, Drain and Shutdown from the owner's; SetHealth from any.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/controller/catalog_api.h"
#include "service/server/server_config.h"
#include "service/shard/shard_api.h"
#include "service/transport/error_counts.h"
#include "service/transport/leader_hints.h"
#include "service/transport/peer_channels.h"
#include "storage/api/recovery.h"
#include "storage/layout/store_error.h"

namespace quorum::server {

class Front {
 public:
  // All outlive the front.
  struct Parts {
    const storage::NodeIdentity& node;
    shard::ShardDirectory& shards;
    const controller::CatalogView& catalog;
    controller::ControllerApi& controller;
    transport::LeaderHints& hints;
    transport::PeerChannels& channels;
    const Clock& clock;
  };

  // Begins to answer. PORT_IN_USE when the address cannot be bound.
  static std::optional<storage::StoreError> Start(const ServeConfig& config, const Parts& parts,
                                                  std::unique_ptr<Front>* front);
  // As Shutdown with no grace.
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // What grpc.health.v1 says of a name (node_health.h).
  void SetHealth(const std::string& name, bool serving);

  // The calls that were answered with an error.
  const transport::ErrorCounts& errors() const;

  // New calls of clients are refused from now on, and those that wait give up.
  void Drain();

  // Takes no new calls, and cancels those that run longer than `grace`. Returns when the last one
  // has been answered, so the shards and the controller must still run.
  void Shutdown(Duration grace);

 private:
  struct Impl;
  explicit Front(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace quorum::server

// Server: a running node. This is where the concrete classes meet: store, shards, controller,
// transport, pages. Nothing is decided here.
//
//   std::unique_ptr<Server> server;
//   if (auto error = Server::Start(config, &server)) return Report(*error);
//   ... until asked to stop ...
//   server->Stop();
//
// Two log lines are there to be waited for: `serving node=1 ...` once the port is open, and
// `ready node=1 ...` once the node has caught up with its cluster.
//
// Thread: the owner's.

#pragma once

#include <memory>
#include <optional>

#include "service/server/server_config.h"
#include "storage/layout/store_error.h"

namespace quorum::server {

class Server {
 public:
  // Opens the data directory under a new incarnation and begins to serve. On failure nothing runs:
  // PORT_IN_USE, TRACE_FILE, or what RocksStore::Open says.
  static std::optional<storage::StoreError> Start(const ServeConfig& config,
                                                  std::unique_ptr<Server>* server);
  // As Stop.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Says that it is not ready, hands over what is led here, within the shutdown timeout, answers
  // what is being served, and closes the store.
  void Stop();

 private:
  struct Node;
  explicit Server(std::unique_ptr<Node> node);

  std::unique_ptr<Node> node_;
};

}  // namespace quorum::server

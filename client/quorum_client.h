// QuorumClient: a program's connection to a cluster. Make one, and from it what the program needs:
//
//   ClientOptions options;
//   options.bootstrap = {"127.0.0.1:7101", "127.0.0.1:7102"};
//   QuorumClient client(options);
//   Producer producer(client);    // Appends (producer.h).
//   Consumer consumer(client);    // Reads partitions (consumer.h).
//   Admin admin(client);          // Manages topics and quorums (admin.h).
//
// What all of them share:
//   * One thread and one channel per node, whatever the number of calls and streams.
//   * A node that lives is found, the partition's leader is preferred, leader hints are followed.
//   * What may be repeated is repeated (retry_policy.h), with growing random waits, until the
//     call's deadline.
//   * A write is sent only over a connection that stands, so that a dead node costs nothing but
//     time: "no node could be reached" is a refusal, not an unknown outcome. (An append whose
//     deadline passes while the batch that it shares with later ones waits for a node is unknown.)
//
// Thread: any. Callbacks run on the client's thread and must neither block nor make blocking calls.
// Ownership: the destructor cancels what is on its way and runs the callbacks before it returns;
// blocking calls must have returned. It must not run in a callback.

#pragma once

#include <memory>

#include "client/client_options.h"

namespace quorum::client {

struct ClientCore;

class QuorumClient {
 public:
  // Connects on first use. `options.bootstrap` must not be empty.
  explicit QuorumClient(ClientOptions options);
  ~QuorumClient();
  QuorumClient(const QuorumClient&) = delete;
  QuorumClient& operator=(const QuorumClient&) = delete;

  // For the classes that are made from a client.
  const std::shared_ptr<ClientCore>& core() const { return core_; }

 private:
  // Also a consumer's, which may outlive the client.
  const std::shared_ptr<ClientCore> core_;
};

}  // namespace quorum::client

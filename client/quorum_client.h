// QuorumClient: a program's connection to a cluster. Make one, and from it what the program needs:
//
//   ClientOptions options;
//   options.bootstrap = {"127.0.0.1:7101", "127.0.0.1:7102"};
//   QuorumClient client(options);
//   Consumer consumer(client);    // Reads partitions (consumer.h).
//   Admin admin(client);          // Manages topics and quorums (admin.h).
//
//   v1::AppendRequest request;
//   request.set_topic("orders");
//   request.set_partition(0);
//   request.add_records()->set_value("v1");
//   AppendOutcome outcome = client.Append(request);
//
// What all of them share:
//   * One thread and one channel per node, whatever the number of calls and streams.
//   * A node that lives is found, the partition's leader is preferred, leader hints are followed.
//   * What may be repeated is repeated (retry_policy.h), with growing random waits, until the
//     call's deadline.
//   * A write is sent only over a connection that stands, so that a dead node costs nothing but
//     time: "no node could be reached" is a refusal, never an unknown outcome.
//
// Thread: any. Callbacks run on the client's thread and must neither block nor make blocking calls.
// Ownership: the destructor cancels what is on its way and runs the callbacks before it returns;
// blocking calls must have returned. It must not run in a callback.

#pragma once

#include <functional>
#include <memory>

#include "client/append_outcome.h"
#include "client/client_options.h"
#include "client/error.h"
#include "quorum/v1/log.pb.h"

namespace quorum::client {

struct ClientCore;

class QuorumClient {
 public:
  // Connects on first use. `options.bootstrap` must not be empty.
  explicit QuorumClient(ClientOptions options);
  ~QuorumClient();
  QuorumClient(const QuorumClient&) = delete;
  QuorumClient& operator=(const QuorumClient&) = delete;

  // Appends one batch, all or nothing. Returns when the outcome is known, or known to stay unknown.
  AppendOutcome Append(v1::AppendRequest request, CallOptions options = {});

  // As Append, without waiting: `done` is called once. Calls that are on their way at the same time
  // may reach the log in any order.
  void AppendAsync(v1::AppendRequest request, CallOptions options,
                   std::function<void(AppendOutcome)> done);

  // For the classes that are made from a client.
  const std::shared_ptr<ClientCore>& core() const { return core_; }

 private:
  // Also a consumer's, which may outlive the client.
  const std::shared_ptr<ClientCore> core_;
};

}  // namespace quorum::client

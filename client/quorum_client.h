// QuorumClient: appends to, reads from and administers a Quorum cluster.
//
//   ClientOptions options;
//   options.bootstrap = {"127.0.0.1:7101", "127.0.0.1:7102"};
//   QuorumClient client(options);
//
//   v1::AppendRequest request;
//   request.set_topic("orders");
//   request.set_partition(0);
//   request.add_records()->set_value("v1");
//   AppendOutcome outcome = client.Append(request);
//
// What it does beyond a generated stub:
//   * It finds a node that lives, prefers the partition's leader, and follows leader hints.
//   * It repeats what may be repeated, with growing random waits, until the deadline
//     (retry_policy.h). An append is repeated only after a proof that it is not in the log.
//   * It sends an append only over a connection that stands, so that a dead node costs nothing but
//     time: "no node could be reached" is a refusal, never an unknown outcome.
//   * It tells the three outcomes of an append apart as types (append_outcome.h).
//   * A tail goes on through failovers without gap or repeat (tail_reader.h).
//
// Requests and answers are the messages of proto/quorum/v1, whose comments are the contract. The
// client sets `timeout` in them; leave `forwarded_by` alone.
//
// Thread: any thread may call, also at the same time. The client runs one thread of its own,
// whatever the number of calls; callbacks run on it and must neither block nor call the blocking
// methods. Ownership: the destructor cancels what is on its way and runs the callbacks before it
// returns; blocking calls must have returned.

#pragma once

#include <functional>
#include <memory>

#include "client/append_outcome.h"
#include "client/client_options.h"
#include "client/error.h"
#include "client/tail_cursor.h"
#include "client/tail_reader.h"
#include "quorum/v1/admin.pb.h"
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

  // Begins to read. `options.timeout` is how long no node may serve the tail before it fails.
  std::unique_ptr<TailReader> Tail(const TailSpec& spec, CallOptions options = {});

  // Entries that have an error which may pass are asked for again until the deadline; then the
  // answer holds them.
  Result<v1::ListOffsetsResponse> ListOffsets(v1::ListOffsetsRequest request,
                                              CallOptions options = {});

  // Administration. A change that fails with an error for which MayHaveHappened is true may have
  // been made: read it back.
  Result<v1::CreateTopicResponse> CreateTopic(v1::CreateTopicRequest request,
                                              CallOptions options = {});
  Result<v1::DeleteTopicResponse> DeleteTopic(v1::DeleteTopicRequest request,
                                              CallOptions options = {});
  Result<v1::ElectLeaderResponse> ElectLeader(v1::ElectLeaderRequest request,
                                              CallOptions options = {});

  // What is. Errors of single entries are part of the answer and not retried.
  Result<v1::ListTopicsResponse> ListTopics(v1::ListTopicsRequest request,
                                            CallOptions options = {});
  Result<v1::DescribeTopicResponse> DescribeTopic(v1::DescribeTopicRequest request,
                                                  CallOptions options = {});
  Result<v1::DescribeQuorumResponse> DescribeQuorum(v1::DescribeQuorumRequest request,
                                                    CallOptions options = {});
  Result<v1::DescribeClusterResponse> DescribeCluster(v1::DescribeClusterRequest request,
                                                      CallOptions options = {});

 private:
  // Also a tail's, which may outlive the client.
  const std::shared_ptr<ClientCore> core_;
};

}  // namespace quorum::client

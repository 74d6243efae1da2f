// AppendFlow: one batch for one partition on its way through this node, to exactly one of three
// outcomes. AppendRoute decides the way; this class appends, forwards and waits.
//
// A batch of a producer is sent again after an attempt of unknown outcome, since the log holds it
// once at most. From then on nothing proves that the batch is not in the log: no refusal of a later
// attempt is passed on, and the client is told "unknown".
//
// Lifecycle: Run makes one, which lives until `done` has run. Thread: any, one after the other: a
// step begins when the one before it has ended.

#pragma once

#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <optional>

#include "quorum/v1/log.pb.h"
#include "service/transport/append_forwarder.h"
#include "service/transport/append_request.h"
#include "service/transport/client_parts.h"
#include "service/transport/forward_policy.h"
#include "service/transport/partition_lookup.h"

namespace quorum::transport {

struct AppendOutcome {
  enum class Kind { kCommitted, kRefused, kUnknown };
  Kind kind = Kind::kUnknown;
  // With kCommitted.
  v1::AppendResponse committed;
  // Otherwise: what Append fails with.
  google::rpc::Status error;
};

struct AppendOptions {
  // Neither forwarded already, nor forbidden by the client.
  bool may_forward = true;
  // Set when a node forwarded it: that node waits and tries again, not this one.
  bool forwarded = false;
  MonoTime deadline = kNever;
  // True once the client has gone: no further attempt begins.
  std::function<bool()> cancelled;
  // Where it goes on its way to other nodes, with the other entries of its call; null: alone.
  std::shared_ptr<AppendForwarder> forwarder;
};

class AppendFlow : public std::enable_shared_from_this<AppendFlow> {
 public:
  using Done = std::function<void(AppendOutcome)>;

  // `parts` and what `entry` points to must live until `done` has run. `done` may run before Run
  // returns.
  static void Run(ClientParts& parts, const AppendEntry& entry, AppendOptions options, Done done);

 private:
  AppendFlow(ClientParts& parts, const AppendEntry& entry, AppendOptions options, Done done);

  void Begin();
  void Do(const AppendRoute::Next& next);
  void AppendHere();
  void OnAppended(const shard::AppendResult& result);
  void Forward(NodeId target);
  void OnForwarded(const google::rpc::Status& status, const v1::AppendResponse& response);
  void After(AttemptResult result);
  void GiveUp();
  void Answer();

  std::optional<NodeId> Leader() const;
  void Refuse(CallError error);

  ClientParts& parts_;
  const AppendEntry entry_;
  const AppendOptions options_;
  const Done done_;
  FoundPartition partition_;
  std::optional<AppendRoute> route_;
  // What the last attempt ended with.
  AppendOutcome outcome_;
  // What the first attempt of unknown outcome ended with.
  std::optional<AppendOutcome> unknown_;
};

// What InitProducer has in common with an append.

// Refusals that concern the node that was asked rather than what was asked of it.
bool IsElsewhere(const google::rpc::Status& status);
grpc::Status StatusOf(const google::rpc::Status& status);
// What the route needs to know of an append on this node's own replica.
AttemptResult ResultOf(const shard::AppendResult& result);
// Why nothing was executed anywhere, in the end.
CallError GivenUp(const ClientParts& parts, PartitionId partition, bool may_forward);
// The outcome of an append on this node's own replica, as clients are told. Not for kCommitted.
google::rpc::Status ErrorOf(const ClientParts& parts, const shard::AppendResult& result,
                            bool deadline_passed);

}  // namespace quorum::transport

// CatalogChange: a change of the catalog on its way to the controller, here or one hop away. It
// takes the way of an append (forward_policy.h): what may have been done is not done again, unless
// that does no harm. A change that another node has made is answered when this node's own catalog
// shows it, so that who asks the same node next finds it; a copy that lags for long is not waited
// for.
//
// Lifecycle: Run makes one, which lives until `done` has run. Thread: any, one after the other.

#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "service/transport/client_parts.h"
#include "service/transport/controller_codec.h"
#include "service/transport/forward_policy.h"
#include "service/transport/partition_lookup.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {

struct ChangeOptions {
  bool may_forward = true;
  bool forwarded = false;
  // It may be done twice without harm.
  bool may_repeat = false;
  MonoTime deadline = kNever;
  std::function<bool()> cancelled;
};

template <typename Request, typename Response>
class CatalogChange : public std::enable_shared_from_this<CatalogChange<Request, Response>> {
 public:
  struct Steps {
    // The topic, for error messages.
    std::string topic;
    // "/quorum.v1.AdminService/...".
    const char* method;
    // Asks this node's controller.
    std::function<void(controller::ControllerDone)> ask;
    // Whether this node's catalog shows the change that was answered; empty: nobody looks.
    std::function<bool(const Response&)> shown;
    // The answer to a change that was made.
    std::function<void(const controller::ControllerResult&, Response*)> encode;
    // Once. The response has a meaning when the status is OK.
    std::function<void(const grpc::Status&, Response)> done;
  };

  static void Run(ClientParts& parts, Request request, ChangeOptions options, Steps steps) {
    std::shared_ptr<CatalogChange> change(
        new CatalogChange(parts, std::move(request), std::move(options), std::move(steps)));
    change->Begin();
  }

 private:
  // A second at most.
  static constexpr Duration kLookPause = std::chrono::milliseconds(5);
  static constexpr int kLooksMax = 200;

  CatalogChange(ClientParts& parts, Request request, ChangeOptions options, Steps steps)
      : parts_(parts),
        request_(std::move(request)),
        options_(std::move(options)),
        steps_(std::move(steps)),
        route_(RouteRules{parts.self.self.id, options_.may_forward, !options_.forwarded,
                          options_.may_repeat},
               Replicas(parts), options_.deadline) {}

  static std::vector<NodeId> Replicas(const ClientParts& parts) {
    std::vector<NodeId> nodes;
    for (const controller::NodeView& node : parts.catalog.Nodes()) nodes.push_back(node.key.id);
    return nodes;
  }

  void Begin() {
    if (options_.cancelled()) return GiveUp();
    Do(route_.Begin(Controller(), parts_.clock.Now()));
  }

  void Do(const AppendRoute::Next& next) {
    switch (next.step) {
      case AppendRoute::Step::kAppendHere:
        return AskHere();
      case AppendRoute::Step::kForward:
        return Forward(next.target);
      case AppendRoute::Step::kWait:
        return RunAfter(next.wait, [self = this->shared_from_this()] { self->Begin(); });
      case AppendRoute::Step::kAnswer:
        return steps_.done(status_, std::move(response_));
      case AppendRoute::Step::kGiveUp:
        return GiveUp();
    }
  }

  void AskHere() {
    steps_.ask([self = this->shared_from_this()](const controller::ControllerResult& result) {
      self->OnResult(result);
    });
  }

  void OnResult(const controller::ControllerResult& result) {
    if (result.hint.epoch > Epoch(0)) parts_.hints.Note(kMetadataPartition, result.hint);
    if (result.error == controller::ControllerError::kNone) {
      status_ = grpc::Status::OK;
      steps_.encode(result, &response_);
      return After(AttemptResult::kCommitted);
    }
    status_ = ErrorOf(result, steps_.topic).ToGrpc();
    if (result.error == controller::ControllerError::kNotController) {
      return After(AttemptResult::kNotLeader);
    }
    After(result.error == controller::ControllerError::kOutcomeUnknown ? AttemptResult::kUnknown
                                                                       : AttemptResult::kRefused);
  }

  void Forward(NodeId target) {
    const std::shared_ptr<grpc::Channel> channel =
        parts_.channels.Get(target, ChannelUse::kForward);
    // As in AppendFlow: nothing is sent before the connection stands.
    if (channel == nullptr || channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
      return After(AttemptResult::kNotSent);
    }
    const Duration left = std::max<Duration>(options_.deadline - parts_.clock.Now(), Duration(1));
    Request request = request_;
    request.set_forwarded_by(parts_.self.self.id.value());
    request.set_cluster_id(parts_.self.cluster_id);
    EncodeDuration(left, request.mutable_timeout());
    StartUnary<Request, Response>(
        parts_.calls, channel, steps_.method, std::move(request),
        left + std::chrono::milliseconds(100),
        [self = this->shared_from_this()](const grpc::Status& status, Response response) {
          self->OnForwarded(status, std::move(response));
        });
  }

  void OnForwarded(const grpc::Status& status, Response response) {
    status_ = status;
    response_ = std::move(response);
    if (status.ok()) return AwaitShown(kLooksMax);
    const google::rpc::Status rpc = RpcStatusOf(status);
    const std::optional<shard::LeaderHint> hint = HintIn(parts_, rpc);
    if (hint.has_value()) parts_.hints.Note(kMetadataPartition, *hint);
    if (!ErrorInfoOf(rpc).has_value() || HasReason(rpc, v1::ERROR_REASON_REQUEST_TIMED_OUT)) {
      return After(AttemptResult::kUnknown);
    }
    const bool elsewhere = HasReason(rpc, v1::ERROR_REASON_NOT_LEADER) ||
                           HasReason(rpc, v1::ERROR_REASON_LEADER_NOT_AVAILABLE) ||
                           HasReason(rpc, v1::ERROR_REASON_SHUTTING_DOWN);
    After(elsewhere ? AttemptResult::kNotLeader : AttemptResult::kRefused);
  }

  void AwaitShown(int looks) {
    const bool late = parts_.clock.Now() + kLookPause >= options_.deadline;
    if (looks == 0 || late || options_.cancelled() || !steps_.shown || steps_.shown(response_)) {
      return After(AttemptResult::kCommitted);
    }
    RunAfter(kLookPause, [self = this->shared_from_this(), looks] { self->AwaitShown(looks - 1); });
  }

  void After(AttemptResult result) { Do(route_.After(result, Controller(), parts_.clock.Now())); }

  void GiveUp() {
    shard::LeaderHint hint = parts_.hints.Find(kMetadataPartition);
    if (options_.may_forward || hint.leader == parts_.self.self) hint.leader.reset();
    steps_.done(NotLeader(parts_, hint).ToGrpc(), {});
  }

  std::optional<NodeId> Controller() const {
    const shard::LeaderHint hint = parts_.hints.Find(kMetadataPartition);
    if (!hint.leader.has_value()) return std::nullopt;
    return hint.leader->id;
  }

  ClientParts& parts_;
  const Request request_;
  const ChangeOptions options_;
  const Steps steps_;
  AppendRoute route_;
  // What the last attempt ended with.
  grpc::Status status_;
  Response response_;
};

}  // namespace quorum::transport

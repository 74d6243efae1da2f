#include "service/transport/init_producer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/control_record.h"
#include "service/shard/producer_limits.h"
#include "service/transport/call_deadline.h"
#include "service/transport/partition_lookup.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {
namespace {

// How many ids a node asks for at once.
constexpr uint32_t kBlockSize = 1'000;

v1::InitProducerResponse Given(int64_t id, int32_t epoch) {
  v1::InitProducerResponse response;
  response.set_producer_id(id);
  response.set_producer_epoch(epoch);
  EncodeDuration(shard::ProducerLimits{}.expiry, response.mutable_expiry());
  return response;
}

std::optional<CallError> CheckRequest(const v1::InitProducerRequest& request) {
  if (request.name().empty()) {
    if (request.has_partition() || !request.topic().empty()) {
      return InvalidField("name", "is required with a topic or a partition");
    }
    return std::nullopt;
  }
  if (request.name().size() > kProducerNameMax) {
    return InvalidField("name", absl::StrCat("at most ", kProducerNameMax, " bytes"));
  }
  if (request.topic().empty()) return InvalidField("topic", "is required with a name");
  if (!request.has_partition()) return InvalidField("partition", "is required with a name");
  return std::nullopt;
}

// One name on its way to the partition's leader, as AppendFlow goes. An attempt of unknown outcome
// is not repeated: an old one that is carried out late would fence the answer to a newer one.
class NamedInit : public std::enable_shared_from_this<NamedInit> {
 public:
  NamedInit(ClientParts& parts, v1::InitProducerRequest request, AppendOptions options,
            InitProducerDone done)
      : parts_(parts),
        request_(std::move(request)),
        options_(std::move(options)),
        done_(std::move(done)) {}

  void Begin() {
    if (options_.cancelled()) return GiveUp();
    std::optional<FoundPartition> found =
        FindPartition(parts_.catalog, request_.topic(), request_.partition());
    if (!found.has_value()) {
      return Refuse(NotFound(parts_.catalog, request_.topic(), request_.partition()));
    }
    partition_ = *std::move(found);
    if (partition_.id.topic == kMetadataPartition.topic) {
      return Refuse(CallError(v1::ERROR_REASON_INTERNAL_TOPIC,
                              absl::StrCat(request_.topic(), " belongs to the system")));
    }
    if (!route_.has_value()) {
      const RouteRules rules{parts_.self.self.id, options_.may_forward, !options_.forwarded};
      route_.emplace(rules, partition_.replicas, options_.deadline);
    }
    Do(route_->Begin(Leader(), parts_.clock.Now()));
  }

 private:
  void Do(const AppendRoute::Next& next) {
    switch (next.step) {
      case AppendRoute::Step::kAppendHere:
        return BindHere();
      case AppendRoute::Step::kForward:
        return Forward(next.target);
      case AppendRoute::Step::kWait:
        return RunAfter(next.wait, [self = shared_from_this()] { self->Begin(); });
      case AppendRoute::Step::kAnswer:
        return done_(status_, std::move(response_));
      case AppendRoute::Step::kGiveUp:
        return GiveUp();
    }
  }

  void BindHere() {
    shard::BindProducerCall call;
    call.partition = partition_.id;
    call.name = request_.name();
    call.deadline = options_.deadline;
    call.done = [self = shared_from_this()](const shard::BindProducerResult& result) {
      self->OnBound(result);
    };
    if (!parts_.shards.ForPartition(partition_.id).Post(std::move(call))) {
      Refuse(Throttled("this node has too much to do"));
    }
  }

  void OnBound(const shard::BindProducerResult& result) {
    if (result.hint.epoch > Epoch(0)) parts_.hints.Note(partition_.id, result.hint);
    if (result.outcome == shard::AppendResult::Outcome::kCommitted) {
      status_ = grpc::Status::OK;
      response_ = Given(result.producer_id, result.producer_epoch);
      return After(AttemptResult::kCommitted);
    }
    // A binding fails as an append does.
    shard::AppendResult as_append;
    as_append.outcome = result.outcome;
    as_append.error = result.error;
    as_append.hint = result.hint;
    status_ = StatusOf(ErrorOf(parts_, as_append, parts_.clock.Now() >= options_.deadline));
    After(ResultOf(as_append));
  }

  void Forward(NodeId target) {
    const std::shared_ptr<grpc::Channel> channel =
        parts_.channels.Get(target, ChannelUse::kForward);
    // As in AppendFlow: nothing is sent before the connection stands.
    if (channel == nullptr || channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
      return After(AttemptResult::kNotSent);
    }
    v1::InitProducerRequest request = request_;
    request.set_forwarded_by(parts_.self.self.id.value());
    request.set_cluster_id(parts_.self.cluster_id);
    const Duration left = std::max<Duration>(options_.deadline - parts_.clock.Now(), Duration(1));
    EncodeDuration(left, request.mutable_timeout());
    StartUnary<v1::InitProducerRequest, v1::InitProducerResponse>(
        parts_.calls, channel, "/quorum.v1.LogService/InitProducer", std::move(request),
        left + kHopSlack,
        [self = shared_from_this()](const grpc::Status& status, v1::InitProducerResponse response) {
          self->OnForwarded(status, std::move(response));
        });
  }

  void OnForwarded(const grpc::Status& status, v1::InitProducerResponse response) {
    status_ = status;
    response_ = std::move(response);
    if (status.ok()) return After(AttemptResult::kCommitted);
    const google::rpc::Status rpc = RpcStatusOf(status);
    if (!IsRefused(rpc)) return After(AttemptResult::kUnknown);
    const std::optional<shard::LeaderHint> hint = HintIn(parts_, rpc);
    if (hint.has_value()) parts_.hints.Note(partition_.id, *hint);
    After(IsElsewhere(rpc) ? AttemptResult::kNotLeader : AttemptResult::kRefused);
  }

  void After(AttemptResult result) { Do(route_->After(result, Leader(), parts_.clock.Now())); }

  void GiveUp() { Refuse(GivenUp(parts_, partition_.id, options_.may_forward)); }

  void Refuse(CallError error) { done_(error.Refused().ToGrpc(), {}); }

  std::optional<NodeId> Leader() const {
    const shard::LeaderHint hint = parts_.hints.Find(partition_.id);
    if (!hint.leader.has_value()) return std::nullopt;
    return hint.leader->id;
  }

  ClientParts& parts_;
  const v1::InitProducerRequest request_;
  const AppendOptions options_;
  const InitProducerDone done_;
  FoundPartition partition_;
  std::optional<AppendRoute> route_;
  // What the last attempt ended with.
  grpc::Status status_;
  v1::InitProducerResponse response_;
};

void InitAnonymous(ClientParts& parts, const v1::InitProducerRequest& request,
                   AppendOptions options, InitProducerDone done) {
  const std::optional<int64_t> id = parts.producer_ids.Take();
  if (id.has_value()) {
    done(grpc::Status::OK, Given(*id, 0));
    return;
  }
  v1::AllocateProducerIdsRequest block;
  block.set_count(kBlockSize);
  block.set_no_forward(request.no_forward());
  ChangeOptions change;
  change.may_forward = options.may_forward;
  change.forwarded = options.forwarded;
  change.deadline = options.deadline;
  change.cancelled = std::move(options.cancelled);
  AllocateProducerIds(
      parts, block, std::move(change),
      [&parts, done = std::move(done)](const grpc::Status& status,
                                       const v1::AllocateProducerIdsResponse& given) {
        if (!status.ok() || given.count() == 0) {
          done(status.ok() ? CallError(v1::ERROR_REASON_INTERNAL, "an empty block of ids").ToGrpc()
                           : status,
               {});
          return;
        }
        parts.producer_ids.Add(given.first_producer_id() + 1, given.count() - 1);
        done(grpc::Status::OK, Given(given.first_producer_id(), 0));
      });
}

}  // namespace

void InitProducer(ClientParts& parts, const v1::InitProducerRequest& request, AppendOptions options,
                  InitProducerDone done) {
  std::optional<CallError> error = CheckRequest(request);
  if (error.has_value()) {
    done(error->Refused().ToGrpc(), {});
  } else if (request.name().empty()) {
    InitAnonymous(parts, request, std::move(options), std::move(done));
  } else {
    std::make_shared<NamedInit>(parts, request, std::move(options), std::move(done))->Begin();
  }
}

void AllocateProducerIds(ClientParts& parts, const v1::AllocateProducerIdsRequest& request,
                         ChangeOptions options, AllocateDone done) {
  controller::ProducerIdAllocation allocation;
  allocation.count = request.count();
  allocation.deadline = options.deadline;
  options.may_repeat = true;
  using Change = CatalogChange<v1::AllocateProducerIdsRequest, v1::AllocateProducerIdsResponse>;
  Change::Steps steps;
  steps.method = "/quorum.v1.AdminService/AllocateProducerIds";
  steps.ask = [&parts, allocation](controller::ControllerDone answered) {
    parts.controller.AllocateProducerIds(allocation, std::move(answered));
  };
  steps.encode = [allocation](const controller::ControllerResult& result,
                              v1::AllocateProducerIdsResponse* given) {
    given->set_first_producer_id(result.first_producer_id);
    given->set_count(allocation.count);
  };
  steps.done = std::move(done);
  Change::Run(parts, request, std::move(options), std::move(steps));
}

}  // namespace quorum::transport

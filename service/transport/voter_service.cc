#include "service/transport/voter_service.h"

#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "service/base/check.h"
#include "service/transport/answer_codec.h"
#include "service/transport/call_error.h"
#include "service/transport/fencing.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/request_codec.h"

namespace quorum::transport {
namespace {

grpc::ServerUnaryReactor* Finish(grpc::ServerUnaryReactor* reactor, const grpc::Status& status) {
  reactor->Finish(status);
  return reactor;
}

}  // namespace

template <typename Request, typename Response>
grpc::ServerUnaryReactor* VoterService::Serve(grpc::CallbackServerContext* context,
                                              const Request& request, Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  absl::StatusOr<shard::LaneRequest> decoded = Decode(request, self_);
  if (!decoded.ok()) return Finish(reactor, RefusalOf(decoded.status(), self_));
  const std::optional<CallError> fenced = RefuseOldProcess(catalog_, decoded->envelope.from);
  if (fenced.has_value()) return Finish(reactor, fenced->ToGrpc());
  shard::ShardApi& owner = shards_.ForLane(decoded->envelope.lane);
  const bool taken =
      owner.Post(*std::move(decoded), [this, reactor, response](const shard::LaneResponse& answer) {
        if (const auto* refused = std::get_if<shard::RefusedRequest>(&answer.body)) {
          reactor->Finish(RefusalOf(refused->error, self_));
          return;
        }
        const auto* headers = std::get_if<shard::HeaderAnswer>(&answer.body);
        CHECK(headers != nullptr);
        Encode(answer.responder, *headers, response);
        reactor->Finish(grpc::Status::OK);
      });
  if (!taken) return Finish(reactor, RefusalOf(shard::EnvelopeError::kThrottled, self_));
  return reactor;
}

grpc::ServerUnaryReactor* VoterService::Vote(grpc::CallbackServerContext* context,
                                             const v1::VoteRequest* request,
                                             v1::VoteResponse* response) {
  return Serve(context, *request, response);
}

grpc::ServerUnaryReactor* VoterService::BeginQuorumEpoch(grpc::CallbackServerContext* context,
                                                         const v1::BeginQuorumEpochRequest* request,
                                                         v1::BeginQuorumEpochResponse* response) {
  return Serve(context, *request, response);
}

grpc::ServerUnaryReactor* VoterService::EndQuorumEpoch(grpc::CallbackServerContext* context,
                                                       const v1::EndQuorumEpochRequest* request,
                                                       v1::EndQuorumEpochResponse* response) {
  return Serve(context, *request, response);
}

grpc::ServerUnaryReactor* VoterService::UpdateVoter(grpc::CallbackServerContext* context,
                                                    const v1::UpdateVoterRequest* /*request*/,
                                                    v1::UpdateVoterResponse* /*response*/) {
  return Finish(context->DefaultReactor(),
                CallError(v1::ERROR_REASON_NOT_IMPLEMENTED,
                          "This version takes the addresses of voters from the catalog and does "
                          "not write them into voter sets.")
                    .ToGrpc());
}

}  // namespace quorum::transport

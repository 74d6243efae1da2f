#include "service/transport/grpc_peer_transport.h"

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "quorum/v1/observer.pb.h"
#include "quorum/v1/voter.pb.h"
#include "service/base/overloaded.h"
#include "service/transport/answer_codec.h"
#include "service/transport/call_error.h"
#include "service/transport/fetch_answer_codec.h"
#include "service/transport/request_codec.h"

namespace quorum::transport {
namespace {

absl::StatusOr<shard::LaneResponse> DecodeAnswer(const grpc::ByteBuffer& buffer) {
  return DecodeFetchAnswer(buffer);
}

template <typename Message>
absl::StatusOr<shard::LaneResponse> DecodeAnswer(const Message& message) {
  return Decode(message);
}

}  // namespace

template <typename Response>
UnaryDone<Response> GrpcPeerTransport::Answer(shard::PeerDone done) const {
  return [this, done = std::move(done)](const grpc::Status& status, const Response& response) {
    if (!status.ok()) {
      if (HasReason(RpcStatusOf(status), v1::ERROR_REASON_FENCED_INCARNATION)) {
        on_fenced_(status.error_message());
      }
      done(std::nullopt);
      return;
    }
    absl::StatusOr<shard::LaneResponse> answer = DecodeAnswer(response);
    if (answer.ok()) {
      done(*std::move(answer));
    } else {
      done(std::nullopt);
    }
  };
}

void GrpcPeerTransport::Send(shard::LaneRequest request, Duration timeout, shard::PeerDone done) {
  const shard::Envelope& envelope = request.envelope;
  const bool fetch = std::holds_alternative<shard::FetchBatch>(request.body);
  const std::shared_ptr<grpc::Channel> channel =
      channels_.Get(envelope.to.key.id, fetch ? ChannelUse::kFetch : ChannelUse::kControl);
  std::visit(Overloaded{
                 [&](const shard::VoteBatch& batch) {
                   StartUnary<v1::VoteRequest, v1::VoteResponse>(
                       calls_, channel, "/quorum.v1.VoterService/Vote", EncodeVote(envelope, batch),
                       timeout, Answer<v1::VoteResponse>(std::move(done)));
                 },
                 [&](const shard::BeginBatch& batch) {
                   StartUnary<v1::BeginQuorumEpochRequest, v1::BeginQuorumEpochResponse>(
                       calls_, channel, "/quorum.v1.VoterService/BeginQuorumEpoch",
                       EncodeBegin(envelope, batch), timeout,
                       Answer<v1::BeginQuorumEpochResponse>(std::move(done)));
                 },
                 [&](const shard::EndBatch& batch) {
                   StartUnary<v1::EndQuorumEpochRequest, v1::EndQuorumEpochResponse>(
                       calls_, channel, "/quorum.v1.VoterService/EndQuorumEpoch",
                       EncodeEnd(envelope, batch), timeout,
                       Answer<v1::EndQuorumEpochResponse>(std::move(done)));
                 },
                 [&](const shard::FetchBatch& batch) {
                   StartUnary<v1::FetchRequest, grpc::ByteBuffer>(
                       calls_, channel, "/quorum.v1.ObserverService/Fetch",
                       EncodeFetch(envelope, batch), timeout,
                       Answer<grpc::ByteBuffer>(std::move(done)));
                 },
             },
             request.body);
}

}  // namespace quorum::transport

// The peer service for elections: decodes, hands each request to the shard of its lane, and answers
// when the shard does.
//
// Thread: gRPC's; answers are sent from the shard threads.

#pragma once

#include <utility>

#include "quorum/v1/voter.grpc.pb.h"
#include "service/controller/catalog_api.h"
#include "service/shard/shard_api.h"
#include "service/transport/envelope_codec.h"

namespace quorum::transport {

class VoterService : public v1::VoterService::CallbackService {
 public:
  // `shards` and `catalog` must outlive the gRPC server.
  VoterService(Receiver self, shard::ShardDirectory& shards, const controller::CatalogView& catalog)
      : self_(std::move(self)), shards_(shards), catalog_(catalog) {}

  grpc::ServerUnaryReactor* Vote(grpc::CallbackServerContext* context,
                                 const v1::VoteRequest* request,
                                 v1::VoteResponse* response) override;
  grpc::ServerUnaryReactor* BeginQuorumEpoch(grpc::CallbackServerContext* context,
                                             const v1::BeginQuorumEpochRequest* request,
                                             v1::BeginQuorumEpochResponse* response) override;
  grpc::ServerUnaryReactor* EndQuorumEpoch(grpc::CallbackServerContext* context,
                                           const v1::EndQuorumEpochRequest* request,
                                           v1::EndQuorumEpochResponse* response) override;
  grpc::ServerUnaryReactor* UpdateVoter(grpc::CallbackServerContext* context,
                                        const v1::UpdateVoterRequest* request,
                                        v1::UpdateVoterResponse* response) override;

 private:
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* Serve(grpc::CallbackServerContext* context, const Request& request,
                                  Response* response);

  const Receiver self_;
  shard::ShardDirectory& shards_;
  const controller::CatalogView& catalog_;
};

}  // namespace quorum::transport

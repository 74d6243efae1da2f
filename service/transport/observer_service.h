// The peer service for replication and discovery. Fetch is handled as raw bytes on its way out
// (fetch_answer_codec.h); followers, observers, and readers with no envelope at all come through
// the same door.
//
// Thread: gRPC's; answers are sent from the shard threads and the controller's.

#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <utility>

#include "quorum/v1/observer.grpc.pb.h"
#include "service/base/time.h"
#include "service/controller/catalog_api.h"
#include "service/shard/shard_api.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/leader_hints.h"

namespace quorum::transport {

// Fetch answers as bytes, everything else as messages.
using ObserverServiceBase = v1::ObserverService::WithRawCallbackMethod_Fetch<
    v1::ObserverService::WithCallbackMethod_FetchSnapshot<
        v1::ObserverService::WithCallbackMethod_Metadata<
            v1::ObserverService::WithCallbackMethod_DiscoverBrokers<
                v1::ObserverService::WithCallbackMethod_RegisterBroker<
                    v1::ObserverService::Service>>>>>;

class ObserverService : public ObserverServiceBase {
 public:
  struct Parts {
    shard::ShardDirectory& shards;
    const controller::CatalogView& catalog;
    controller::ControllerApi& controller;
    const LeaderHints& hints;
    const Clock& clock;
  };

  // What `parts` refer to must outlive the gRPC server. `incarnation` is this process life.
  ObserverService(Receiver self, Incarnation incarnation, const Parts& parts)
      : self_(std::move(self)), incarnation_(incarnation), parts_(parts) {}

  grpc::ServerUnaryReactor* Fetch(grpc::CallbackServerContext* context,
                                  const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* FetchSnapshot(grpc::CallbackServerContext* context,
                                          const v1::FetchSnapshotRequest* request,
                                          v1::FetchSnapshotResponse* response) override;
  grpc::ServerUnaryReactor* Metadata(grpc::CallbackServerContext* context,
                                     const v1::MetadataRequest* request,
                                     v1::MetadataResponse* response) override;
  grpc::ServerUnaryReactor* DiscoverBrokers(grpc::CallbackServerContext* context,
                                            const v1::DiscoverBrokersRequest* request,
                                            v1::DiscoverBrokersResponse* response) override;
  grpc::ServerUnaryReactor* RegisterBroker(grpc::CallbackServerContext* context,
                                           const v1::RegisterBrokerRequest* request,
                                           v1::RegisterBrokerResponse* response) override;

 private:
  const Receiver self_;
  const Incarnation incarnation_;
  const Parts parts_;
};

}  // namespace quorum::transport

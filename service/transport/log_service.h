// LogService: appends and reads for applications. Every call is validated, finds its partition in
// this node's catalog, and is answered here or one hop away.
//
// Thread: gRPC's; answers are sent from the shard threads and gRPC's.

#pragma once

#include "quorum/v1/log.grpc.pb.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

// Tail as bytes, everything else as messages.
using LogServiceBase =
    v1::LogService::WithCallbackMethod_Append<v1::LogService::WithCallbackMethod_AppendBatch<
        v1::LogService::WithRawCallbackMethod_Tail<v1::LogService::WithCallbackMethod_ListOffsets<
            v1::LogService::WithCallbackMethod_InitProducer<v1::LogService::Service>>>>>;

class LogService : public LogServiceBase {
 public:
  // `parts` must outlive the gRPC server.
  explicit LogService(ClientParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* Append(grpc::CallbackServerContext* context,
                                   const v1::AppendRequest* request,
                                   v1::AppendResponse* response) override;
  grpc::ServerUnaryReactor* AppendBatch(grpc::CallbackServerContext* context,
                                        const v1::AppendBatchRequest* request,
                                        v1::AppendBatchResponse* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Tail(grpc::CallbackServerContext* context,
                                                   const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* ListOffsets(grpc::CallbackServerContext* context,
                                        const v1::ListOffsetsRequest* request,
                                        v1::ListOffsetsResponse* response) override;
  grpc::ServerUnaryReactor* InitProducer(grpc::CallbackServerContext* context,
                                         const v1::InitProducerRequest* request,
                                         v1::InitProducerResponse* response) override;

 private:
  ClientParts& parts_;
};

}  // namespace quorum::transport

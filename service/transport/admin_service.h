// AdminService: topics, quorums and the cluster, for people and operators. Changes go to the
// controller, questions about a partition to its leader, the rest is answered from this node's
// catalog.
//
// Thread: gRPC's; answers are sent from the shard threads, the controller's and gRPC's.

#pragma once

#include "quorum/v1/admin.grpc.pb.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

class AdminService : public v1::AdminService::CallbackService {
 public:
  // `parts` must outlive the gRPC server.
  explicit AdminService(ClientParts& parts) : parts_(parts) {}

  grpc::ServerUnaryReactor* CreateTopic(grpc::CallbackServerContext* context,
                                        const v1::CreateTopicRequest* request,
                                        v1::CreateTopicResponse* response) override;
  grpc::ServerUnaryReactor* DeleteTopic(grpc::CallbackServerContext* context,
                                        const v1::DeleteTopicRequest* request,
                                        v1::DeleteTopicResponse* response) override;
  grpc::ServerUnaryReactor* ListTopics(grpc::CallbackServerContext* context,
                                       const v1::ListTopicsRequest* request,
                                       v1::ListTopicsResponse* response) override;
  grpc::ServerUnaryReactor* DescribeTopic(grpc::CallbackServerContext* context,
                                          const v1::DescribeTopicRequest* request,
                                          v1::DescribeTopicResponse* response) override;
  grpc::ServerUnaryReactor* DescribeQuorum(grpc::CallbackServerContext* context,
                                           const v1::DescribeQuorumRequest* request,
                                           v1::DescribeQuorumResponse* response) override;
  grpc::ServerUnaryReactor* AlterQuorum(grpc::CallbackServerContext* context,
                                        const v1::AlterQuorumRequest* request,
                                        v1::AlterQuorumResponse* response) override;
  grpc::ServerUnaryReactor* AddVoter(grpc::CallbackServerContext* context,
                                     const v1::AddVoterRequest* request,
                                     v1::AddVoterResponse* response) override;
  grpc::ServerUnaryReactor* RemoveVoter(grpc::CallbackServerContext* context,
                                        const v1::RemoveVoterRequest* request,
                                        v1::RemoveVoterResponse* response) override;
  grpc::ServerUnaryReactor* ElectLeader(grpc::CallbackServerContext* context,
                                        const v1::ElectLeaderRequest* request,
                                        v1::ElectLeaderResponse* response) override;
  grpc::ServerUnaryReactor* DescribeCluster(grpc::CallbackServerContext* context,
                                            const v1::DescribeClusterRequest* request,
                                            v1::DescribeClusterResponse* response) override;
  grpc::ServerUnaryReactor* AllocateProducerIds(grpc::CallbackServerContext* context,
                                                const v1::AllocateProducerIdsRequest* request,
                                                v1::AllocateProducerIdsResponse* response) override;

 private:
  ClientParts& parts_;
};

}  // namespace quorum::transport

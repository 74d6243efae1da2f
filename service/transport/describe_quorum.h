// DescribeQuorum as PartitionGather asks it: a quorum as its leader sees it (KIP-595, KIP-836).
//
// Thread: any.

#pragma once

#include "quorum/v1/admin.pb.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

struct DescribeQuorumTraits {
  using Request = v1::DescribeQuorumRequest;
  using Response = v1::DescribeQuorumResponse;

  static const char* Method() { return "/quorum.v1.AdminService/DescribeQuorum"; }
  static void FillTopic(const controller::TopicView& view, Response::Topic* topic);
  static bool Fill(const ClientParts& parts, const shard::PartitionDescription& own, bool stale,
                   Response::Partition* answer);
  // Adds the addresses of the nodes.
  static void Finish(const ClientParts& parts, Response* response);
};

// A replica as AdminService names it.
void EncodeName(const ReplicaKey& key, v1::ReplicaName* name);

}  // namespace quorum::transport

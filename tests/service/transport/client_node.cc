#include "tests/service/transport/client_node.h"

#include <grpcpp/create_channel.h>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"

namespace quorum::transport {

ClientNode::ClientNode(int32_t node)
    : id(node),
      parts{Receiver{"c-1", KeyOf(node), 16},
            shards,
            catalog,
            controller,
            hints,
            channels,
            calls,
            clock,
            ClientLimits{}} {
  catalog.Add(1, "__metadata", 1, {1, 2});
  catalog.Add(2, "orders", 3, {1, 2});
  for (const int32_t other : {1, 2}) {
    controller::NodeView view;
    view.key = KeyOf(other);
    view.incarnation = Incarnation(4);
    view.endpoints = {{"", absl::StrCat("host-", other, ":7101")}};
    catalog.nodes.push_back(view);
  }
  auto server = GrpcServer::Start({"127.0.0.1:0"}, {&log_service_, &admin_service_});
  CHECK(server.ok()) << server.status();
  server_ = *std::move(server);
  channel_ = grpc::CreateChannel(Address(), grpc::InsecureChannelCredentials());
  log_stub_ = v1::LogService::NewStub(channel_);
  admin_stub_ = v1::AdminService::NewStub(channel_);
}

ClientNode::~ClientNode() { Stop(); }

void ClientNode::Knows(const ClientNode& other) {
  addresses.Set(NodeId(other.id), other.Address());
}

std::string ClientNode::Address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

void ClientNode::Stop() {
  if (server_ == nullptr) return;
  parts.shutting_down.store(true);
  calls.CancelAndWait();
  server_->Shutdown(Duration::zero());
  server_.reset();
}

PartitionId Orders(uint32_t index) { return PartitionId{TopicId(2), index}; }

shard::AppendResult Committed(int64_t offset, int32_t leader) {
  shard::AppendResult result;
  result.outcome = shard::AppendResult::Outcome::kCommitted;
  result.base_offset = Offset(offset);
  result.epoch = Epoch(3);
  result.hint = {KeyOf(leader), Epoch(3)};
  return result;
}

shard::AppendResult NotLeaderResult(int32_t leader) {
  shard::AppendResult result;
  result.error = raft::RaftError::kNotLeaderOrFollower;
  result.hint.epoch = Epoch(3);
  if (leader != 0) result.hint.leader = KeyOf(leader);
  return result;
}

}  // namespace quorum::transport

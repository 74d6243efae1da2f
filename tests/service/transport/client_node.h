// ClientNode: one node's services for clients over a real connection, with fake shards behind them.
// Two of them know each other and forward to each other.

#pragma once

#include <grpc/support/time.h>
#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/transport/address_book.h"
#include "service/transport/admin_service.h"
#include "service/transport/client_parts.h"
#include "service/transport/grpc_server.h"
#include "service/transport/leader_hints.h"
#include "service/transport/log_service.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/peer_channels.h"
#include "tests/service/transport/fakes.h"

namespace quorum::transport {

// gRPC's clock, which also ends the calls.
class GrpcClock : public Clock {
 public:
  MonoTime Now() const override {
    const gpr_timespec now = gpr_now(GPR_CLOCK_MONOTONIC);
    return MonoTime(Duration(now.tv_sec * 1'000'000'000 + now.tv_nsec));
  }
  int64_t WallTimeMs() const override { return 1'700'000'000'000; }
};

class ClientNode {
 public:
  // Node `node` of the cluster "c-1", with a topic "orders" of three partitions on nodes 1 and 2.
  explicit ClientNode(int32_t node);
  // Stops the server first, so that what the shards hold is answered by nobody.
  ~ClientNode();

  void Knows(const ClientNode& other);
  std::string Address() const;
  v1::LogService::Stub& log() { return *log_stub_; }
  v1::AdminService::Stub& admin() { return *admin_stub_; }
  // Nothing comes in, and nothing goes out, any more.
  void Stop();

  const int32_t id;
  FakeShards shards;
  FakeCatalog catalog;
  FakeController controller;
  LeaderHints hints;
  AddressBook addresses;
  PeerChannels channels{addresses};
  OutstandingCalls calls;
  GrpcClock clock;
  ClientParts parts;

 private:
  LogService log_service_{parts};
  AdminService admin_service_{parts};
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::LogService::Stub> log_stub_;
  std::unique_ptr<v1::AdminService::Stub> admin_stub_;
};

// Partition `index` of "orders".
PartitionId Orders(uint32_t index);

shard::AppendResult Committed(int64_t offset, int32_t leader);
// Not leader; the hint when `leader` is not 0.
shard::AppendResult NotLeaderResult(int32_t leader);

}  // namespace quorum::transport

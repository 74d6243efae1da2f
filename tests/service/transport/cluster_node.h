// ClusterNode: one node of a real cluster inside the test: a real shard on a memory disk, driven by
// timers of gRPC, and the whole transport in front of it.
//
// Thread: the test's; the shard runs on gRPC's, one round after the other.

#pragma once

#include <grpcpp/channel.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/shard/shard.h"
#include "service/transport/grpc_peer_transport.h"
#include "service/transport/grpc_server.h"
#include "service/transport/observer_service.h"
#include "service/transport/voter_service.h"
#include "storage/memory/memory_disk.h"
#include "tests/service/transport/client_node.h"

namespace quorum::transport {

// Keeps the hints up to date, as the daemon does.
class HintKeeper : public shard::ShardObserver {
 public:
  explicit HintKeeper(LeaderHints& hints) : hints_(hints) {}
  void OnTrace(PartitionId partition, const raft::TraceEvent& event) override {
    if (event.kind == raft::TraceKind::kTransition) {
      hints_.Note(partition, {event.leader, event.epoch});
    }
  }

 private:
  LeaderHints& hints_;
};

class ClusterNode : public shard::ShardDirectory {
 public:
  // One partition, "orders"-0, born with `voters` as its first voters.
  ClusterNode(int32_t node, const std::vector<int32_t>& voters);
  ~ClusterNode() override;

  void Knows(const ClusterNode& other) { addresses_.Set(NodeId(other.id), other.Address()); }
  std::string Address() const { return address_; }
  v1::LogService::Stub& log() { return *log_; }
  v1::AdminService::Stub& admin() { return *admin_; }

  // Stops to serve and to ask, then stops the shard.
  void Stop();

  shard::ShardApi& ForPartition(PartitionId /*partition*/) override { return *shard_; }
  shard::ShardApi& ForLane(Lane /*lane*/) override { return *shard_; }

  const int32_t id;

 private:
  void Birth(const std::vector<int32_t>& voters);
  // Runs the shard and its disk once, and again a moment later until the node stops.
  void Pump();

  FakeCatalog catalog_;
  FakeController controller_;
  LeaderHints hints_;
  HintKeeper keeper_{hints_};
  AddressBook addresses_;
  PeerChannels channels_{addresses_};
  GrpcPeerTransport transport_{channels_, [](const std::string&) {}};
  OutstandingCalls calls_;
  GrpcClock clock_;
  storage::MemoryDisk disk_{&clock_};
  std::unique_ptr<shard::Shard> shard_;
  ClientParts parts_;
  VoterService voter_service_;
  std::unique_ptr<ObserverService> observer_service_;
  LogService log_service_{parts_};
  AdminService admin_service_{parts_};
  std::unique_ptr<GrpcServer> server_;
  std::string address_;
  std::unique_ptr<v1::LogService::Stub> log_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::atomic<bool> stopping_{false};
  Latch stopped_;
};

}  // namespace quorum::transport

// ElectLeader: makes the leader of one partition hand over, and waits until another one leads. Here
// when this node leads, else one hop away. Asking again is harmless: a leader that is the wanted
// one does nothing.
//
// Lifecycle: Run makes one, which lives until `done` has run. Thread: any, one after the other.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "quorum/v1/admin.pb.h"
#include "service/transport/client_parts.h"
#include "service/transport/partition_lookup.h"

namespace quorum::transport {

struct ElectOptions {
  bool may_forward = true;
  MonoTime deadline = kNever;
  std::function<bool()> cancelled;
};

class ElectLeader : public std::enable_shared_from_this<ElectLeader> {
 public:
  using Answer = v1::ElectLeaderResponse::Partition;
  using Done = std::function<void()>;

  // Fills `answer`; it and `asked` must live until `done` has run.
  static void Run(ClientParts& parts, const std::string& topic,
                  const v1::ElectLeaderRequest::Partition& asked, const ElectOptions& options,
                  Answer* answer, Done done);

 private:
  ElectLeader(ClientParts& parts, std::string topic, const ElectOptions& options, Answer* answer,
              Done done);

  void Look();
  void OnLook(const shard::PartitionDescription& own);
  void HandOver(const shard::PartitionDescription& own);
  void Forward(NodeId leader);
  void OnForwarded(const grpc::Status& status, const v1::ElectLeaderResponse& response);
  void LookLater();
  void Settle(const shard::LeaderHint& hint);
  void Fail(const CallError& error);

  ClientParts& parts_;
  const std::string topic_;
  const ElectOptions options_;
  Answer* const answer_;
  const Done done_;
  FoundPartition partition_;
  // Who shall lead.
  NodeId wanted_;
  // The epoch that was given up here; a leader of a later one ends the call.
  std::optional<Epoch> resigned_;
};

}  // namespace quorum::transport

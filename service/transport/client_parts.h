// What the services for clients share: who this node is, its seams, and their limits.
//
// Thread: any; every part says for itself.

#pragma once

#include <grpcpp/alarm.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "service/base/time.h"
#include "service/controller/catalog_api.h"
#include "service/shard/shard_api.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/leader_hints.h"
#include "service/transport/outstanding_calls.h"
#include "service/transport/peer_channels.h"
#include "service/transport/producer_ids.h"

namespace quorum::transport {

struct ClientLimits {
  // The encoded size of one record, and of the records of one batch, in bytes.
  size_t record_bytes_max = size_t{1} << 20;
  size_t batch_bytes_max = size_t{4} << 20;
  size_t batch_records_max = 100'000;
  // Entries in one AppendBatch, ListOffsets, DescribeQuorum or ElectLeader.
  size_t entries_max = 20'000;
  // How long any call waits at most, whatever the client says.
  Duration wait_max = std::chrono::seconds(30);
  // Records in one message of a Tail, in bytes; one batch may go over it.
  size_t tail_bytes_max = size_t{1} << 20;
};

// Lives as long as the gRPC server that the services are registered with.
struct ClientParts {
  Receiver self;
  shard::ShardDirectory& shards;
  const controller::CatalogView& catalog;
  controller::ControllerApi& controller;
  LeaderHints& hints;
  PeerChannels& channels;
  // The calls that are forwarded.
  OutstandingCalls& calls;
  const Clock& clock;
  ClientLimits limits;
  // The producer ids that this process has been given and not yet given on.
  ProducerIds producer_ids{};
  // Set when the node begins to shut down: new calls are refused, waiting ones give up.
  std::atomic<bool> shutting_down{false};
};

// Runs `run` once, on a thread of gRPC, when `wait` has passed.
void RunAfter(Duration wait, std::function<void()> run);

}  // namespace quorum::transport

// Workload: the clients. Some append batches of unique payloads, one attempt each, to whatever node
// they believe to lead; others read partitions on every node from their beginning, or ask for
// descriptions. What they are told goes to the ClientOracle. Topics come and go meanwhile
// (topics.h).
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/shard/client_calls.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class Workload {
 public:
  Workload(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng);

  void Start();
  // No new append, read or description from now on.
  void Stop() { stopped_ = true; }
  // One append to whoever leads now, so that a partition without clients moves on too.
  void Probe(PartitionId partition, SimNode& node);
  // The process of the node ended with all its calls.
  void OnStopped(NodeId node);
  // Appends and reads that wait for an answer.
  size_t pending() const { return appends_.size() + reading_; }
  size_t calls_max() const;

 private:
  struct Append {
    int client = 0;
    NodeId node;
    PartitionId partition;
    int records = 0;
  };
  struct Reader {
    SimNode* node = nullptr;
    PartitionId partition;
    Offset next;
    std::optional<Offset> seen_high_watermark;
    std::optional<Epoch> seen_epoch;
    // The process life that was asked, while an answer is awaited.
    uint64_t asked = 0;
  };

  void ThinkThenAppend(int client);
  void SendAppend(int client, PartitionId partition, SimNode& node);
  AppendConditions DrawConditions(PartitionId partition);
  void OnAppendDone(uint64_t attempt, const shard::AppendResult& result);
  SimNode& ChooseNode(PartitionId partition);
  void AddReaders(SimNode& node);
  void Read(size_t reader);
  void OnReadDone(size_t reader, uint64_t life, Offset from, const shard::ReadResult& result);
  void ReadAgain(size_t reader, Duration delay);
  void DescribeSometimes();
  // One that exists, and now and then one that was deleted; empty when there is none.
  std::optional<PartitionId> RandomPartition();
  // Of the ones that exist, `__metadata` included.
  PartitionId PartitionToRead();

  World& world_;
  const std::vector<std::unique_ptr<SimNode>>& nodes_;
  Prng prng_;
  bool stopped_ = false;
  uint64_t last_attempt_ = 0;
  std::map<uint64_t, Append> appends_;
  std::map<PartitionId, NodeId> leaders_;
  // What clients know of a log: where it ended, and in which epoch.
  std::map<PartitionId, AppendConditions> known_;
  std::vector<Reader> readers_;
  size_t reading_ = 0;
};

}  // namespace quorum::sim

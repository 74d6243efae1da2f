// Producers: clients that try again. An idempotent writer takes an id from the controller, and
// sends each batch, under the same sequence, until it is told that it is in the log. Writers with a
// name come in pairs: each binds the name to shut the other out, and the one that was shut out goes
// on until it is told. Both attach conditions to some of their batches, and send those again with
// the same stamp and under the same conditions; one that is refused for good gives its sequence
// numbers to another. What they are told goes to the ProducerOracle.
//
// Thread: the simulator's only one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/record_batch.h"
#include "service/controller/catalog_api.h"
#include "service/shard/client_calls.h"
#include "tests/sim/conditions.h"
#include "tests/sim/sim_node.h"
#include "tests/sim/world.h"

namespace quorum::sim {

class Producers {
 public:
  Producers(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng);

  void Start();
  // No new batch from now on; those that are made are still tried until they are in the log.
  void Stop() { stopped_ = true; }
  // The process of the node ended with all its calls.
  void OnStopped(NodeId node);
  // Empty when every batch has found its place, or its partition is deleted.
  std::string WhatIsMissing() const;
  size_t calls_max() const;
  // One that somebody writes to; empty when nobody does.
  std::optional<PartitionId> AnyPartition();

 private:
  struct Batch {
    uint64_t payload = 0;
    int64_t base_sequence = 0;
    BatchDraft draft;
    AppendConditions conditions;
    // The outcome of an attempt is not known: a refusal of another one says nothing of it.
    bool unknown = false;
  };
  struct Writer {
    // Empty: idempotent, without a name.
    std::string name;
    std::optional<PartitionId> partition;
    // Absent until it has an id.
    std::optional<ProducerStamp> stamp;
    // Raised when it begins anew, with another id or epoch: answers to what it sent before are
    // checked, and change nothing.
    uint64_t run = 0;
    // Not known to be in the log, in order.
    std::deque<Batch> window;
    // Where the log ends behind the window if nobody comes in between.
    Offset window_end;
  };
  // A call that waits for an answer.
  struct Call {
    NodeId node;
    size_t writer = 0;
    uint64_t run = 0;
    // The batch; 0 for an id or a binding.
    uint64_t payload = 0;
    // What its attempt is called by the oracle.
    uint64_t attempt = 0;
    // Nobody listens any more.
    bool given_up = false;
  };

  void Begin(size_t writer);
  void BeginLater(size_t writer);
  void GetId(size_t writer, uint64_t run);
  void AskController(size_t writer, uint64_t run, SimNode& node);
  void Bind(size_t writer, uint64_t run, SimNode& node);
  void Think(size_t writer, uint64_t run);
  void Make(size_t writer);
  AppendConditions DrawConditions(const Writer& writer);
  void Send(size_t writer, uint64_t run, uint64_t payload);
  // The call has taken too long; its batch is sent again, and what became of this attempt is open.
  void GiveUp(uint64_t call);
  void SendLater(size_t writer, uint64_t run, uint64_t payload);
  void OnSent(uint64_t call, const shard::AppendResult& result);
  void OnRefused(const Call& call, const shard::AppendResult& result);
  // Whether no attempt of the batch is in the log, or will ever be.
  static bool IsRefusedForGood(const Batch& batch, const shard::AppendResult& result);
  // Gives up the batch, and those behind it, which cannot follow the log without it.
  static void Drop(Writer& writer, uint64_t payload);
  // Whether a batch that was given up is still on its way: its sequence numbers must wait.
  bool IsDropping(size_t writer) const;
  static Batch* Find(Writer& writer, uint64_t payload);
  void NoteEnd(PartitionId partition, Offset end);
  uint64_t AddCall(const SimNode& node, size_t writer, uint64_t run, uint64_t payload);
  // Takes the call back; empty when it has been given up.
  std::optional<Call> TakeCall(uint64_t call);
  bool IsOver(const Writer& writer) const;
  SimNode& ChooseNode(PartitionId partition);
  void NoteLeader(PartitionId partition, const shard::LeaderHint& hint);
  Duration Pause();

  World& world_;
  const std::vector<std::unique_ptr<SimNode>>& nodes_;
  Prng prng_;
  // Of its own: without conditions a seed runs as if there were none.
  Prng conditions_prng_;
  Prng deposed_prng_;
  bool stopped_ = false;
  std::vector<Writer> writers_;
  std::map<PartitionId, NodeId> leaders_;
  // The ones before them.
  std::map<PartitionId, NodeId> deposed_;
  // What the writers know of a log: where it ended, and in which epoch.
  std::map<PartitionId, AppendConditions> known_;
  std::map<uint64_t, Call> calls_;
  uint64_t last_call_ = 0;
  uint64_t last_payload_ = kProducerPayloads;
};

}  // namespace quorum::sim

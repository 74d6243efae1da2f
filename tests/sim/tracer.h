// Tracer: the memory of a run. It hashes everything that happens, so that two runs of a seed can be
// compared, and keeps the last lines of each node for the report of a failure.
//
// Thread: the simulator's only one.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "service/base/ids.h"
#include "service/raft/trace.h"
#include "tests/sim/event_queue.h"

namespace quorum::sim {

class Tracer {
 public:
  // With `out`, every line is also printed as it comes.
  Tracer(const EventQueue* queue, std::ostream* out) : queue_(*queue), out_(out) {}

  // Mixes a value into the hash of the run.
  void Mix(uint64_t value) {
    hash_ ^= value + 0x9e3779b97f4a7c15ULL + (hash_ << 6) + (hash_ >> 2);
    hash_ *= 0x100000001b3ULL;
  }
  uint64_t hash() const { return hash_; }

  // Something that a fault, a client or a node did. Node 0 stands for the world.
  void Note(NodeId node, absl::string_view text);
  // Something that a replica says of itself.
  void Trace(NodeId node, PartitionId partition, const raft::TraceEvent& event);

  // The last lines of each node, oldest first.
  void PrintTail(std::ostream& out) const;

 private:
  static constexpr size_t kLinesMax = 40;

  void Add(NodeId node, std::string line);

  const EventQueue& queue_;
  std::ostream* const out_;
  uint64_t hash_ = 0xcbf29ce484222325ULL;
  std::map<NodeId, std::deque<std::string>> lines_;
};

}  // namespace quorum::sim

// Cluster: several replicas of one partition in one process, each with a clock, a disk and a
// connection to each other, all moved by hand. What happens is written down, line by line:
//
//   2 <- 1 Vote                                          The event that node 2 is given ...
//     vote_granted epoch=1 peer=1 end=0: vote            ... and what its step asks for, in order.
//     persist epoch=1 leader=- voted=1
//     -> 1 Vote answer NONE epoch=1 leader=- granted [waits for write 3]
//   2 synced write 3                                     What its disk has done by itself.
//
// The shard's part is played as effect.h prescribes it: writes of a step get one number; a Send or
// a Reply leaves once the writes that its gate waits for are synced, and is dropped when the role
// has moved on by then. Disks sync after each step, unless held.
//
// After each step the cluster is checked: one leader per epoch, and one record per committed
// offset.
//
// Thread: the test's.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/effect.h"
#include "service/raft/event.h"
#include "service/raft/messages.h"
#include "service/raft/replica.h"

namespace quorum::interaction {

// The replica of node `id` on its only directory.
ReplicaKey Key(int32_t id);

// The connection broke before an answer came.
struct Broken {};

using Body =
    std::variant<raft::VoteRequest, raft::BeginQuorumEpochRequest, raft::EndQuorumEpochRequest,
                 raft::FetchRequest, raft::VoteResponse, raft::BeginQuorumEpochResponse,
                 raft::EndQuorumEpochResponse, raft::FetchResponse, Broken>;

// A message on its way. An answer carries the correlation of the request.
struct Envelope {
  int32_t from = 0;
  int32_t to = 0;
  Body body;
  raft::Correlation correlation;
  // The process life of the node that asked.
  int asker_life = 0;
};

class Cluster {
 public:
  struct Options {
    int voters = 3;
    int observers = 0;
    uint64_t seed = 1;
    bool quiet = false;
    // Batches that a Fetch brings at most.
    size_t fetch_batches = 1'000;
    // What the disks of some nodes hold at the beginning: (epoch, records) from offset 0, and the
    // epoch that the node has adopted. The first batch of a log holds the voters.
    std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> logs;
    Epoch epoch;
  };

  explicit Cluster(const Options& options);

  // Time passes; messages do not move. Timers, waits and time-outs end in their order.
  void Tick(Duration duration);
  // Time passes, and every message is delivered at once.
  void Run(Duration duration);
  // One node's clock runs ahead until it starts an election.
  void Campaign(int32_t id);

  // Delivers what is on its way now; `drops` are links whose messages are lost.
  void Deliver(const std::set<std::pair<int32_t, int32_t>>& drops);
  // Delivers until nothing is on its way.
  void Stabilize();
  void Cut(int32_t from, int32_t to) { cuts_.insert({from, to}); }
  void Isolate(int32_t id);
  void Heal() { cuts_.clear(); }

  void Append(int32_t id, int64_t records, std::optional<Epoch> leader_epoch);
  void Resign(int32_t id, std::optional<int32_t> preferred);
  void ShutDown(int32_t id);
  void Hint(int32_t id, int32_t leader, Epoch epoch);

  // The process is killed; `lose_unsynced`: the machine with it.
  void Crash(int32_t id, bool lose_unsynced);
  void Restart(int32_t id);
  void HoldDisk(int32_t id) { nodes_.at(id).held = true; }
  void SyncDisk(int32_t id);

  std::string Status() const;
  std::string Log() const;
  std::string Pending() const;

  bool Has(int32_t id) const { return nodes_.count(id) != 0; }
  bool IsRunning(int32_t id) const { return nodes_.at(id).replica.has_value(); }
  // What has been written down since the last call.
  std::string TakeOutput();
  void SetQuiet(bool quiet) { quiet_ = quiet; }

 private:
  struct Disk {
    ElectionState election;
    std::vector<raft::BatchSummary> log;
    Offset high_watermark_bound;
  };

  // A Send or Reply that waits at its gate.
  struct Gated {
    Envelope envelope;
    uint64_t incarnation = 0;
    uint64_t waits_for = 0;
  };

  struct Asked {
    Envelope envelope;
    MonoTime deadline;
  };

  struct Node {
    Prng prng{0};
    std::optional<raft::Replica> replica;
    int life = 0;
    // What its clock is ahead of the cluster's.
    Duration ahead{0};
    MonoTime armed = kNever;
    Disk written;
    Disk synced;
    bool held = false;
    uint64_t step = 0;
    uint64_t election_write = 0;
    uint64_t log_write = 0;
    uint64_t synced_write = 0;
    std::deque<Gated> gated;
    // Who waits for which answer of this node, and until when a parked one may wait.
    std::map<raft::Token, Envelope> tokens;
    std::map<raft::Token, MonoTime> parked;
    // This node's requests that are not answered, by number.
    std::map<uint64_t, Asked> asked;
    std::optional<VoterSet> founders;
  };

  MonoTime NowOf(const Node& node) const { return now_ + node.ahead; }
  void Preload(Node& node, const std::vector<std::pair<int64_t, int64_t>>& log) const;
  void StartProcess(int32_t id);
  // Steps the replica (Start when `event` is null) and carries the effects out.
  void Step(int32_t id, const raft::Event* event, const std::string& headline);
  void Carry(int32_t id, const raft::Effect& effect, const raft::Event* event);
  bool WriteEffect(Node& node, const raft::Effect& effect, const raft::Event* event);
  bool Answer(int32_t id, const raft::Effect& effect);
  void Emit(int32_t id, Envelope envelope, raft::Gate gate);
  void Leave(int32_t id, Envelope envelope);
  void OpenGates(int32_t id);
  void Sync(int32_t id);
  raft::FetchResponse ReadAnswer(const Node& node, const raft::ReplyFetch& reply) const;

  void DeliverOne(Envelope envelope, const std::set<std::pair<int32_t, int32_t>>& drops);
  void Receive(const Envelope& envelope);
  // Does what is due first, up to `end`; false when nothing is.
  bool DoNext(MonoTime end);
  void Pass(Duration duration, bool deliver);

  void Check(int32_t id);
  void Print(const std::string& line);

  raft::Config config_;
  size_t fetch_batches_;
  std::map<int32_t, Node> nodes_;
  std::deque<Envelope> network_;
  std::set<std::pair<int32_t, int32_t>> cuts_;
  MonoTime now_{Duration(0)};
  raft::Token last_token_ = 0;
  // Oracle: the leader of each epoch, and the epoch of each record that anybody saw as committed.
  std::map<Epoch, int32_t> leaders_;
  std::vector<Epoch> committed_;
  std::string output_;
  bool quiet_;
};

}  // namespace quorum::interaction

// Replica: the pull-based Raft protocol (KIP-595, KIP-996, KIP-1166) for one replica of one
// partition, as a value. Step takes an event and appends effects; nothing else happens. No thread,
// clock, random source, file, socket, protobuf or log line is behind it.
//
//   std::vector<Effect> effects;
//   StepContext context{clock.Now(), prng, write_number, effects};
//   replica.Step(VoteRequested{token, request}, context);
//   // Now carry out `effects`, in order, obeying their gates (effect.h).
//
// Lifecycle: made from what the disk holds, Start once, then Step until the process ends or the
// replica is buried. Thread: the shard thread of its partition. DESIGN.md holds the transition
// graph and the reasons.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/effect.h"
#include "service/raft/event.h"
#include "service/raft/state.h"

namespace quorum::raft {

// What the disk holds of a replica; see storage::RecoveredReplica.
struct RecoveredState {
  ElectionState election;
  Offset log_start;
  Offset log_end;
  std::vector<std::pair<Epoch, Offset>> leader_epochs;
  VoterSetHistory voters;
  Offset high_watermark_bound;
  // Why what was read is not to be built upon; null when it is sound.
  const char* damage = nullptr;
  // At birth only: how long the replica waits before it first campaigns. The catalog's assignment
  // is the successor list of a new partition, so that its first replica leads without a race.
  std::optional<Duration> first_campaign_after;
  // Where the count of role incarnations begins: above that of every earlier life of the partition
  // in this process, so that a late answer to one of those never passes for an answer to this one.
  uint64_t first_incarnation = 1;
};

// One row of DescribeQuorum (KIP-836).
struct ReplicaDescription {
  ReplicaKey key;
  bool voter = false;
  // Unknown until its first Fetch of this epoch.
  std::optional<Offset> log_end;
  std::optional<MonoTime> last_fetch;
  std::optional<MonoTime> last_caught_up;
  std::optional<Offset> high_watermark;
};

class Replica {
 public:
  // `config` must be valid (config.h).
  Replica(ReplicaKey self, const Config& config, RecoveredState recovered);

  // Takes the first role from what was recovered (protocol.md 2.5 with 8.7): a former leader is
  // Resigned, a self-vote is kept and never campaigned on, a sole voter leads at once. A
  // damaged replica takes none: it is quarantined before it could write over what it lacks.
  void Start(StepContext& context);

  void Step(const Event& event, StepContext& context);

  RoleKind role() const { return KindOf(state_.role); }
  const ElectionState& election() const { return state_.election; }
  const LogShape& log() const { return state_.log; }
  const VoterSetHistory& voters() const { return state_.voters; }
  std::optional<Offset> high_watermark() const { return state_.HighWatermark(); }
  // The largest watermark ever known: a lower bound worth storing.
  Offset committed() const { return state_.committed.value_or(Offset(0)); }
  Offset exposed() const { return state_.exposed; }
  // True once the watermark comes from a leader of this process life, not from the disk.
  bool watermark_named() const { return state_.watermark_named; }
  // Since this process opened it, its log has reached what its leader called committed, or it led.
  bool was_in_step() const { return state_.was_in_step; }
  // How long the leader it follows has been ahead of its log with what is committed; zero when it
  // is not. A replica without a leader lags behind nobody.
  Duration Lag(MonoTime now) const;
  uint64_t incarnation() const { return state_.incarnation; }
  const std::optional<std::string>& quarantine() const { return state_.quarantine; }
  bool is_voter() const { return state_.IsVoter(); }
  // Leads, and has committed in its epoch.
  bool is_ready_leader() const;
  // After ShutdownRequested: nothing is left to wait for (protocol.md 2.6).
  bool ShutdownFinished() const;

  // All voters, then the observers that fetch; the leader's own row first. Empty unless this is the
  // leader.
  std::vector<ReplicaDescription> Describe(MonoTime now) const;

  // The whole state, for tests, invariant checks and debug pages.
  const State& state() const { return state_; }

 private:
  void Dispatch(const Event& event, StepContext& context);
  // Sends what has become due.
  void Finish(StepContext& context);
  // Arms the timer for the next deadline when that is another one, or is due already.
  void Arm(StepContext& context);

  State state_;
  std::optional<Duration> first_campaign_after_;
  const char* damage_;
};

}  // namespace quorum::raft

// State: everything that one replica knows, and the context of one step. Handlers are free
// functions over it, one file per RPC or event family. Only transitions.cc changes `role` and
// `election`.
//
// Guarantees, checked by CheckInvariants (invariants.h):
//   1. election.epoch >= the epoch of the last record;
//   2. in Leader and Resigned, election.leader is this replica; in Follower it is another; in
//   Candidate
//      there is none and the vote is this replica's;
//   3. committed <= log end, and exposed <= min(committed, durable end).
//
// Thread: the shard thread of its partition.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/base/election_state.h"
#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/config.h"
#include "service/raft/effect.h"
#include "service/raft/log_shape.h"
#include "service/raft/roles.h"

namespace quorum::raft {

// What one step may use. `write_number` is the number that the round's write will carry: it is
// above that of every earlier round.
struct StepContext {
  MonoTime now;
  Prng& prng;
  uint64_t write_number;
  std::vector<Effect>& effects;

  void Emit(Effect effect) { effects.push_back(std::move(effect)); }
};

// The Fetch that this replica has out, or when it may send the next.
struct FetchState {
  // The number of the outstanding Fetch; 0 when none is out.
  uint64_t outstanding = 0;
  ReplicaKey destination;
  MonoTime send_at;
  int failures = 0;
  // The next Fetch goes to another replica than the leader, to learn whether there is a newer one.
  bool ask_others = false;
};

struct State {
  State(ReplicaKey self_key, const Config& timeouts, LogShape shape, VoterSetHistory sets)
      : self(self_key), config(timeouts), log(std::move(shape)), voters(std::move(sets)) {}

  const ReplicaKey self;
  const Config config;

  ElectionState election;
  Role role = Unattached{};
  // Raised at each change of role or epoch.
  uint64_t incarnation = 1;
  // The number of the last Send.
  uint64_t last_send_number = 0;

  LogShape log;
  VoterSetHistory voters;
  // The largest watermark that this replica has known: what it may never truncate below.
  std::optional<Offset> committed;
  // A leader has named its watermark since this process opened the replica, or this replica leads
  // and has its own: `committed` is no stored bound any more.
  bool watermark_named = false;
  // In this process life: the log has reached its leader's watermark, or led and committed.
  bool was_in_step = false;
  // As a follower: since when the leader's watermark lies above this log. Absent while it does not.
  std::optional<MonoTime> behind_since;
  // What readers have been shown.
  Offset exposed;

  FetchState fetch;
  std::vector<ReplicaKey> discovery_peers;
  bool shutting_down = false;
  std::optional<std::string> quarantine;
  MonoTime armed = kNever;

  bool IsVoter() const { return voters.Latest().Contains(self); }

  // The watermark that this replica may name to others: a leader names none before it has committed
  // in its own epoch.
  std::optional<Offset> HighWatermark() const;

  // What an answer of this replica says of it.
  ResponseHeader Header(RaftError error) const;
};

// An election timer: uniform in [T, 2T) from now, on the grid.
MonoTime DrawElectionDeadline(const State& state, StepContext& context);
// A stint's fetch timeout: the configured one plus a random part below half the election timeout,
// so that the followers of a dead leader do not all ask for votes together.
Duration DrawFetchTimeout(const State& state, StepContext& context);
// The back-off after `failures` failures in a row.
Duration RetryBackoff(const Config& config, int failures);

// Emits a Send and returns its number.
uint64_t SendTo(State& state, const ReplicaKey& peer, Gate gate, PeerMessage message,
                StepContext& context);

}  // namespace quorum::raft

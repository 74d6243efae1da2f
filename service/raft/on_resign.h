// Leaving office: EndQuorumEpoch at both ends, and what makes a leader resign
// (protocol.md 1.3, 3.6, 3.7).
//
// Thread: the shard thread of the partition.

#pragma once

#include <optional>
#include <vector>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/raft/state.h"

namespace quorum::raft {

void OnEndRequest(State& state, const EndQuorumEpochRequested& event, StepContext& context);
void OnEndResponse(State& state, const EndQuorumEpochResponded& event, StepContext& context);
// A notice of this replica got lost: back that voter off.
void OnEndFailed(State& state, const Correlation& correlation, StepContext& context);
void OnResign(State& state, const ResignRequested& event, StepContext& context);
void OnShutdown(State& state, StepContext& context);

// Sends EndQuorumEpoch to the voters that have not acknowledged it, in Resigned.
void SendDueNotices(State& state, StepContext& context);

// The voters of a leader without itself: `preferred` first, then by the offset that each holds,
// highest first, unknown last, ties by replica key.
std::vector<ReplicaKey> SortSuccessors(const State& state, const Leader& leader,
                                       const std::optional<ReplicaKey>& preferred);

// How long the voter at `position` of a list of `count` successors waits before it campaigns;
// `position` is empty when it is not in the list. The first waits not at all; then delays are
// strictly rising with the position, the last ones near `cap`, whatever the length of the list. An
// empty list, or a missing entry, means a random delay, so that not everybody starts at once.
Duration SuccessorBackoff(std::optional<size_t> position, size_t count, Duration cap, Prng& prng);

}  // namespace quorum::raft

#include "service/raft/replica_progress.h"

#include <algorithm>

namespace quorum::raft {

bool ReplicaProgress::OnFetch(Offset offset, Incarnation from, Offset leader_end, MonoTime now) {
  if (from < incarnation) return false;
  const bool lower = durable_end.has_value() && offset < *durable_end;
  if (lower && from == incarnation) return false;
  if (lower) rolled_back = true;
  incarnation = from;
  if (offset >= leader_end) {
    last_caught_up = now;
  } else if (fetched_at.has_value() && offset >= leader_end_at_last_fetch) {
    last_caught_up = std::max(last_caught_up.value_or(*fetched_at), *fetched_at);
  }
  last_fetch = now;
  fetched_at = now;
  leader_end_at_last_fetch = leader_end;
  durable_end = offset;
  return true;
}

void ReplicaProgress::OnSeen(MonoTime at, Offset leader_end) {
  if (!last_fetch.has_value()) return;
  last_fetch = std::max(*last_fetch, at);
  // The leader's end only rises, so whoever holds all of it now held all of it then.
  if (durable_end >= leader_end) last_caught_up = std::max(last_caught_up.value_or(at), at);
}

}  // namespace quorum::raft

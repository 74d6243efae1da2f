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
  } else if (last_fetch.has_value() && offset >= leader_end_at_last_fetch) {
    last_caught_up = std::max(last_caught_up.value_or(*last_fetch), *last_fetch);
  }
  last_fetch = now;
  leader_end_at_last_fetch = leader_end;
  durable_end = offset;
  return true;
}

}  // namespace quorum::raft

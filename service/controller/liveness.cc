// Who is alive, as the leader of `__metadata` hears it: every node fetches `__metadata`. Judged
// anew for each change of the catalog, and from time to time for whoever asks.

#include <set>
#include <utility>

#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

// Looks in a fetch timeout: a node that dies is seen to be dead soon after it counts as that.
constexpr int kLooksPerTimeout = 4;

bool IsOfThisLeadership(const ControllerState& state, const shard::PartitionDescription& metadata) {
  return state.leads && metadata.hint.epoch == state.lead_epoch && !metadata.replicas.empty();
}

}  // namespace

bool CountLive(ControllerState& state, const shard::PartitionDescription& metadata) {
  if (!IsOfThisLeadership(state, metadata)) return false;
  std::set<NodeId> live;
  for (const raft::ReplicaDescription& row : metadata.replicas) {
    const Broker* broker = state.catalog.FindBroker(row.key.id);
    if (broker == nullptr || broker->key != row.key || !row.last_fetch.has_value()) continue;
    if (metadata.now - *row.last_fetch <= state.config.fetch_timeout) live.insert(row.key.id);
  }
  state.live = std::move(live);
  state.views.SetLive(&state.live);
  return true;
}

void WatchLive(ControllerState& state) {
  if (!state.leads || state.looking || state.now < state.look_at) return;
  state.look_at = state.now + state.config.fetch_timeout / kLooksPerTimeout;
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::DescribeCall call;
  call.partition = kMetadataPartition;
  call.done = [mailbox](shard::PartitionDescription description) {
    PostOwn(mailbox, [description = std::move(description)](ControllerState& owner) {
      owner.looking = false;
      CountLive(owner, description);
    });
  };
  state.looking = PostTo(state, kMetadataPartition, std::move(call));
}

}  // namespace quorum::controller

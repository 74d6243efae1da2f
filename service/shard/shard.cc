#include "service/shard/shard.h"

#include <functional>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/mailbox.h"
#include "service/base/overloaded.h"
#include "service/shard/shard_state.h"

namespace quorum::shard {
namespace {

void OnCall(ShardState& shard, ShardCall call) {
  std::visit(Overloaded{
                 [&](AppendCall& c) { OnAppendCall(shard, std::move(c)); },
                 [&](BindProducerCall& c) { OnBindProducerCall(shard, std::move(c)); },
                 [&](ReadCall& c) { OnReadCall(shard, std::move(c)); },
                 [&](DescribeCall& c) { OnDescribeCall(shard, c); },
                 [&](ResignCall& c) { OnResignCall(shard, c); },
                 [&](BirthCall& c) { OnBirthCall(shard, std::move(c)); },
                 [&](BuryCall& c) { OnBuryCall(shard, std::move(c)); },
                 [&](CatalogPositionCall& c) { OnCatalogPositionCall(shard, c); },
                 [&](DiscoveryCall& c) { OnDiscoveryCall(shard, c); },
                 [&](ShutdownCall& c) { OnShutdownCall(shard, std::move(c)); },
                 [&](ResignAllCall&) { OnResignAll(shard); },
             },
             call);
}

void OnItem(ShardState& shard, MailboxItem item) {
  std::visit(Overloaded{
                 [&](PeerItem& peer) { OnPeerRequest(shard, std::move(peer)); },
                 [&](ShardCall& call) { OnCall(shard, std::move(call)); },
                 [&](Task& task) { task(shard); },
             },
             item);
}

}  // namespace

struct Shard::Impl {
  Impl(const ShardConfig& config, const ShardSeams& seams, std::function<void()> wake)
      : mailbox(config.mailbox_max, std::move(wake)), state(config, seams, &mailbox) {}

  Mailbox<MailboxItem> mailbox;
  ShardState state;
  std::vector<MailboxItem> items;
};

Shard::Shard(const ShardConfig& config, const ShardSeams& seams, std::function<void()> wake)
    : impl_(std::make_unique<Impl>(config, seams, std::move(wake))) {}

Shard::~Shard() = default;

void Shard::Open(const std::vector<storage::RecoveredReplica>& replicas) {
  ShardState& state = impl_->state;
  state.now = state.seams.clock.Now();
  for (const storage::RecoveredReplica& replica : replicas) {
    if (!replica.tombstone) OpenRecovered(state, replica);
  }
  FlushRound(state);
}

MonoTime Shard::RunOnce() {
  ShardState& state = impl_->state;
  state.now = state.seams.clock.Now();
  impl_->items.clear();
  impl_->mailbox.Drain(state.config.round_items_max, &impl_->items);
  for (MailboxItem& item : impl_->items) OnItem(state, std::move(item));
  FireTimers(state);
  FlushRound(state);
  return impl_->mailbox.size() > 0 ? state.now : NextDeadline(state);
}

bool Shard::Post(LaneRequest request, PeerReply reply) {
  return impl_->mailbox.Post(PeerItem{std::move(request), std::move(reply)});
}

bool Shard::Post(ShardCall call) { return impl_->mailbox.Post(std::move(call)); }

const raft::Replica* Shard::Find(PartitionId partition) const {
  const Partition* found = impl_->state.Find(partition);
  return found == nullptr ? nullptr : &found->replica;
}

std::vector<PartitionId> Shard::Partitions() const {
  std::vector<PartitionId> ids;
  for (const auto& [id, partition] : impl_->state.partitions) ids.push_back(id);
  return ids;
}

size_t Shard::waiter_count() const { return impl_->state.waiters.size(); }

size_t Shard::gated_count() const { return impl_->state.gate.size(); }

size_t Shard::cached_bytes() const { return impl_->state.cache.bytes(); }

size_t Shard::unsynced_bytes() const {
  return impl_->state.unsynced_bytes + impl_->state.fetched_unsynced_bytes;
}

}  // namespace quorum::shard

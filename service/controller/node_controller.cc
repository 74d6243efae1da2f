#include "service/controller/node_controller.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "service/base/mailbox.h"
#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

constexpr size_t kRoundTasksMax = 4'096;

}  // namespace

bool PostTo(ControllerState& state, PartitionId partition, shard::ShardCall call) {
  return state.seams.shards.ForPartition(partition).Post(std::move(call));
}

void PostOwn(Mailbox<Task>* mailbox, Task task) { mailbox->PostOwn(std::move(task)); }

struct NodeController::Impl {
  Impl(const ControllerConfig& config, const ControllerSeams& seams, std::function<void()> wake)
      : mailbox(config.mailbox_max, std::move(wake)), state(config, seams, &mailbox, &views) {}

  void Post(ChangeRequest request, MonoTime deadline, ControllerDone done);

  Mailbox<Task> mailbox;
  CatalogViews views;
  ControllerState state;
  std::vector<Task> tasks;
};

void NodeController::Impl::Post(ChangeRequest request, MonoTime deadline, ControllerDone done) {
  Change change{std::move(request), deadline, done};
  const bool taken = mailbox.Post([change = std::move(change)](ControllerState& owner) mutable {
    AddChange(owner, std::move(change));
  });
  if (taken) return;
  ControllerResult result;
  result.error = ControllerError::kThrottled;
  done(std::move(result));
}

NodeController::NodeController(const ControllerConfig& config, const ControllerSeams& seams,
                               std::function<void()> wake)
    : impl_(std::make_unique<Impl>(config, seams, std::move(wake))) {}

NodeController::~NodeController() = default;

void NodeController::Open(const LocalReplicas& replicas) {
  ControllerState& state = impl_->state;
  state.now = state.seams.clock.Now();
  state.stored_position = replicas.catalog_position;
  state.noted_position = replicas.catalog_position;
  state.tombstones = replicas.tombstones;
  for (const PartitionId& id : replicas.open) state.local[id] = LocalLife::kOpen;
}

MonoTime NodeController::RunOnce() {
  ControllerState& state = impl_->state;
  state.now = state.seams.clock.Now();
  impl_->tasks.clear();
  impl_->mailbox.Drain(kRoundTasksMax, &impl_->tasks);
  for (Task& task : impl_->tasks) task(state);
  OpenMetadataReplica(state);
  Follow(state);
  ActOnCatalog(state);
  RegisterSelf(state);
  RunChanges(state);
  WatchLive(state);
  WatchCreations(state);
  if (impl_->mailbox.size() > 0) return state.now;
  MonoTime next = NextChangeDeadline(state);
  if (!state.reading && !state.failed) next = std::min(next, std::max(state.read_at, state.now));
  if (!state.registering)
    next = std::min(next, std::max(state.register_at, state.now + state.config.retry));
  if (state.leads) next = std::min(next, std::max(state.check_creations_at, state.now));
  if (state.leads && !state.looking) next = std::min(next, std::max(state.look_at, state.now));
  if (state.act_again) next = std::min(next, state.now + state.config.retry);
  return next;
}

void NodeController::CreateTopic(TopicCreation creation, ControllerDone done) {
  const MonoTime deadline = creation.deadline;
  impl_->Post(std::move(creation), deadline, std::move(done));
}

void NodeController::DeleteTopic(TopicRemoval removal, ControllerDone done) {
  const MonoTime deadline = removal.deadline;
  impl_->Post(std::move(removal), deadline, std::move(done));
}

void NodeController::RegisterBroker(BrokerRegistration registration, ControllerDone done) {
  const MonoTime deadline = registration.deadline;
  impl_->Post(std::move(registration), deadline, std::move(done));
}

void NodeController::AllocateProducerIds(ProducerIdAllocation allocation, ControllerDone done) {
  const MonoTime deadline = allocation.deadline;
  impl_->Post(allocation, deadline, std::move(done));
}

const CatalogView& NodeController::view() const { return impl_->views; }

const Catalog& NodeController::catalog() const { return impl_->state.catalog; }

bool NodeController::leads() const { return impl_->state.leads; }

bool NodeController::caught_up() const { return impl_->state.caught_up; }

bool NodeController::registered() const { return IsRegistered(impl_->state); }

}  // namespace quorum::controller

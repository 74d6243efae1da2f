// On the leader of `__metadata`: partitions are "creating" until their first voter set is committed
// in their own log. A replica of this node knows that by itself, unless it is quarantined or cut
// off from its leader; so the others are asked too, with an anonymous Fetch, as any reader would: a
// leader that names a watermark above 0 has committed its first batch, which holds the voters.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/record_codec.h"
#include "service/controller/catalog_records.h"
#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

// Records in a batch; far below what a batch may have in bytes.
constexpr uint32_t kMarkedAtOnceMax = 5'000;

void NoteCommitted(ControllerState& state, PartitionId id) {
  const auto found = state.creations.find(id);
  if (found != state.creations.end()) found->second.committed = true;
}

void FinishAsking(ControllerState& state, PartitionId id) {
  const auto found = state.creations.find(id);
  if (found != state.creations.end()) found->second.asking = false;
}

void AskOwnReplica(ControllerState& state, PartitionId id) {
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::DescribeCall call;
  call.partition = id;
  call.done = [mailbox, id](const shard::PartitionDescription& found) {
    const bool committed = found.exposed > Offset(0);
    PostOwn(mailbox, [id, committed](ControllerState& owner) {
      FinishAsking(owner, id);
      if (committed) NoteCommitted(owner, id);
    });
  };
  state.creations[id].asking = PostTo(state, id, std::move(call));
}

// Takes from an answer what there is to learn: a watermark, or whom to ask in which epoch.
void Learn(ControllerState& state, const shard::FetchAnswerEntry& entry) {
  const auto found = state.creations.find(entry.partition);
  if (found == state.creations.end()) return;
  if (entry.has_epoch) {
    found->second.epoch = std::max(found->second.epoch, entry.header.epoch);
    if (entry.header.leader.has_value()) found->second.leader = entry.header.leader;
  }
  if (entry.high_watermark.value_or(Offset(0)) > Offset(0)) found->second.committed = true;
}

using Question = std::pair<ReplicaKey, Lane>;

void Ask(ControllerState& state, const Question& question,
         const std::vector<shard::FetchEntry>& entries) {
  shard::FetchBatch batch;
  batch.anonymous = true;
  batch.max_bytes = 1;
  batch.entries = entries;
  shard::Envelope envelope;
  envelope.cluster_id = state.config.cluster_id;
  envelope.to.key = question.first;
  envelope.lane = question.second;
  std::vector<PartitionId> asked;
  for (const shard::FetchEntry& entry : entries) asked.push_back(entry.partition);
  Mailbox<Task>* mailbox = &state.mailbox;
  state.seams.transport.Send(
      shard::LaneRequest{envelope, std::move(batch)}, state.config.request_timeout,
      [mailbox, asked](std::optional<shard::LaneResponse> response) {
        PostOwn(mailbox, [asked, response = std::move(response)](ControllerState& owner) {
          for (const PartitionId& id : asked) FinishAsking(owner, id);
          const auto* answer =
              response.has_value() ? std::get_if<shard::FetchAnswer>(&response->body) : nullptr;
          if (answer == nullptr) return;
          for (const shard::FetchAnswerEntry& entry : answer->entries) Learn(owner, entry);
        });
      });
}

// The replica to ask: the leader where one is known, and the assigned ones, in turn.
ReplicaKey Respondent(CreationWatch* watch, const PartitionPlan& plan) {
  const size_t turn = watch->next++;
  if (!watch->leader.has_value()) return plan.assignment[turn % plan.assignment.size()];
  // What is known of the leader may be old.
  if (turn % 2 == 0) return *watch->leader;
  return plan.assignment[turn / 2 % plan.assignment.size()];
}

// Those to ask about next, at most so many: all have their turn, also behind some that nobody
// leads.
std::vector<PartitionId> NextAsked(ControllerState& state) {
  std::vector<PartitionId> asked;
  auto next = state.creations.upper_bound(state.creation_asked);
  for (size_t left = state.creations.size(); left > 0; --left, ++next) {
    if (next == state.creations.end()) next = state.creations.begin();
    if (next->second.asking || next->second.committed) continue;
    if (asked.size() == state.config.creations_asked_max) break;
    asked.push_back(next->first);
  }
  if (!asked.empty()) state.creation_asked = asked.back();
  return asked;
}

void AskAll(ControllerState& state) {
  std::map<Question, std::vector<shard::FetchEntry>> questions;
  for (const PartitionId& id : NextAsked(state)) {
    CreationWatch& watch = state.creations.at(id);
    const PartitionPlan* plan = state.catalog.FindPartition(id);
    if (plan == nullptr) continue;
    const auto local = state.local.find(id);
    const bool open = local != state.local.end() && local->second == LocalLife::kOpen;
    watch.asked_here = open && !watch.asked_here;
    if (watch.asked_here) {
      AskOwnReplica(state, id);
      continue;
    }
    const ReplicaKey respondent = Respondent(&watch, *plan);
    if (respondent == state.config.self) {
      AskOwnReplica(state, id);
      continue;
    }
    shard::FetchEntry entry;
    entry.partition = id;
    entry.current_leader_epoch = watch.epoch;
    watch.asking = true;
    const Lane lane = shard::LaneOf(id, state.config.lane_count);
    questions[Question{respondent, lane}].push_back(entry);
  }
  for (const auto& [question, entries] : questions) Ask(state, question, entries);
}

// Keeps the list of partitions that are "creating" in step with the catalog.
void Refresh(ControllerState& state) {
  for (const auto& [id, plan] : state.catalog.partitions()) {
    if (plan.life == PartitionLife::kCreating) state.creations.try_emplace(id);
  }
  for (auto watch = state.creations.begin(); watch != state.creations.end();) {
    const PartitionPlan* plan = state.catalog.FindPartition(watch->first);
    const bool over = plan == nullptr || plan->life == PartitionLife::kCreated;
    watch = over ? state.creations.erase(watch) : std::next(watch);
  }
}

// One batch for those that have got there.
void Mark(ControllerState& state) {
  RecordsBuilder builder;
  for (const auto& [id, watch] : state.creations) {
    const PartitionPlan* plan = state.catalog.FindPartition(id);
    if (!watch.committed || plan == nullptr) continue;
    if (builder.record_count() == kMarkedAtOnceMax) break;
    PartitionPlan created = *plan;
    created.life = PartitionLife::kCreated;
    builder.Add(EncodeCatalogRecord(created));
  }
  if (builder.record_count() == 0) return;
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::AppendCall call;
  call.partition = kMetadataPartition;
  call.draft = builder.Finish(state.seams.clock.WallTimeMs());
  call.leader_epoch = state.lead_epoch;
  call.done = [mailbox](const shard::AppendResult&) {
    PostOwn(mailbox, [](ControllerState& owner) { owner.marking = false; });
  };
  state.marking = PostTo(state, kMetadataPartition, std::move(call));
}

}  // namespace

void WatchCreations(ControllerState& state) {
  if (!state.leads || state.now < state.check_creations_at) return;
  state.check_creations_at = state.now + state.config.retry;
  Refresh(state);
  if (state.creations.empty()) return;
  if (!state.marking && !state.under_way.has_value()) Mark(state);
  AskAll(state);
}

}  // namespace quorum::controller

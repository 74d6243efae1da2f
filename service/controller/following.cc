// The catalog is followed like any log: this node's own replica of `__metadata` is read, record by
// record.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"
#include "service/controller/catalog_records.h"
#include "service/controller/controller_state.h"

namespace quorum::controller {
namespace {

constexpr size_t kReadBytes = 1 << 20;

void Fail(ControllerState& state, absl::string_view reason) {
  state.failed = true;
  StopLeading(state);
  state.seams.link.OnCatalogFailure(std::string(reason));
}

TopicId TopicOf(const CatalogRecord& record) {
  if (const auto* topic = std::get_if<Topic>(&record)) return topic->id;
  if (const auto* plan = std::get_if<PartitionPlan>(&record)) return plan->id.topic;
  if (const auto* deletion = std::get_if<TopicDeletion>(&record)) return deletion->id;
  return TopicId(0);
}

// Applies one batch. False when it cannot be understood.
bool ApplyBatch(ControllerState& state, const RecordBatch& batch, std::set<TopicId>* changed) {
  absl::StatusOr<std::vector<DecodedRecord>> records = DecodeRecords(batch);
  if (!records.ok()) {
    Fail(state, absl::StrCat("the catalog cannot be read at offset ", batch.base_offset().value(),
                             ": ", records.status().message()));
    return false;
  }
  for (const DecodedRecord& record : *records) {
    absl::StatusOr<std::optional<CatalogRecord>> decoded = DecodeCatalogRecord(record.fields);
    if (!decoded.ok()) {
      Fail(state, absl::StrCat("the catalog record at offset ", record.offset.value(), ": ",
                               decoded.status().message()));
      return false;
    }
    if (!decoded->has_value()) continue;
    (void)state.catalog.Apply(record.offset, **decoded);
    changed->insert(TopicOf(**decoded));
  }
  state.catalog.AdvanceTo(batch.next_offset());
  return true;
}

void AnnounceNodes(ControllerState& state) {
  for (const NodeView& node : state.views.Nodes()) state.seams.link.OnNode(node);
}

void TakeHint(ControllerState& state, const shard::ReadResult& result) {
  const bool own = result.hint.leader == state.config.self;
  const bool ready = own && result.high_watermark.has_value() &&
                     state.catalog.position() >= *result.high_watermark;
  if (state.leads && (!own || result.hint.epoch != state.lead_epoch)) StopLeading(state);
  state.hint = result.hint;
  if (ready && !state.failed && !state.leads) {
    state.leads = true;
    state.lead_epoch = result.hint.epoch;
  }
}

void ShowMetadataReplicas(ControllerState& state) {
  Mailbox<Task>* mailbox = &state.mailbox;
  (void)PostTo(
      state, kMetadataPartition,
      shard::DescribeCall{kMetadataPartition, [mailbox](const shard::PartitionDescription& found) {
                            std::vector<ReplicaKey> voters;
                            for (const Voter& voter : found.voters) voters.push_back(voter.key);
                            PostOwn(mailbox, [voters](ControllerState& owner) {
                              owner.views.SetMetadataReplicas(voters);
                            });
                          }});
}

void OnRead(ControllerState& state, const shard::ReadResult& result) {
  state.reading = false;
  if (state.failed) return;
  if (result.error != raft::RaftError::kNone) {
    state.read_at = state.now + state.config.retry;
    return;
  }
  std::set<TopicId> changed;
  for (const RecordBatch& batch : result.batches) {
    if (!ApplyBatch(state, batch, &changed)) return;
  }
  if (!result.batches.empty()) {
    state.views.Update(state.catalog, changed);
    if (changed.count(TopicId(0)) > 0) AnnounceNodes(state);
    state.act_again = true;
  }
  const bool new_epoch = state.seen_epoch != result.hint.epoch;
  state.seen_high_watermark = result.exposed;
  state.seen_epoch = result.hint.epoch;
  TakeHint(state, result);
  if (new_epoch) ShowMetadataReplicas(state);
  if (result.watermark_named && result.high_watermark.has_value() &&
      state.catalog.position() >= *result.high_watermark) {
    state.caught_up = true;
  }
  state.read_at = state.now;
}

}  // namespace

void Follow(ControllerState& state) {
  if (state.reading || state.failed || state.now < state.read_at) return;
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::ReadCall call;
  call.partition = kMetadataPartition;
  call.from = state.catalog.position();
  call.max_bytes = kReadBytes;
  call.deadline = state.now + state.config.request_timeout;
  call.seen_high_watermark = state.seen_high_watermark;
  call.seen_epoch = state.seen_epoch;
  // A leader becomes ready without any of these moving, so until then the question is asked again.
  if (state.hint.leader == state.config.self && !state.leads) {
    call.deadline = state.now + state.config.retry;
  }
  call.done = [mailbox](shard::ReadResult result) {
    PostOwn(mailbox,
            [result = std::move(result)](ControllerState& owner) { OnRead(owner, result); });
  };
  state.reading = PostTo(state, kMetadataPartition, std::move(call));
  if (!state.reading) state.read_at = state.now + state.config.retry;
}

}  // namespace quorum::controller

// Changes of the catalog, on the leader of `__metadata`: one at a time, each judged against
// everything that is committed, appended under the epoch that was led when it was judged, and
// answered when it is committed and read back.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/base/control_record.h"
#include "service/base/overloaded.h"
#include "service/base/record_codec.h"
#include "service/controller/catalog_records.h"
#include "service/controller/controller_state.h"
#include "service/controller/placement.h"
#include "service/controller/topic_name.h"
#include "service/shard/peer_messages.h"

namespace quorum::controller {
namespace {

constexpr uint32_t kReplicasDefault = 3;

// What a change would write, or why it must not.
struct Judgement {
  ControllerResult result;
  std::vector<RecordFields> records;
  TopicId topic;
  int64_t first_producer_id = 0;
};

ControllerResult Refusal(const ControllerState& state, ControllerError error,
                         std::string message = "") {
  ControllerResult result;
  result.error = error;
  result.message = std::move(message);
  result.hint = state.hint;
  return result;
}

Judgement Refuse(const ControllerState& state, ControllerError error, std::string message = "") {
  Judgement judgement;
  judgement.result = Refusal(state, error, std::move(message));
  return judgement;
}

Judgement RefuseField(const ControllerState& state, std::string field, std::string why) {
  Judgement judgement = Refuse(state, ControllerError::kInvalidRequest, std::move(why));
  judgement.result.field = std::move(field);
  return judgement;
}

std::vector<ReplicaKey> LiveReplicas(const ControllerState& state) {
  std::vector<ReplicaKey> live;
  for (const auto& [id, broker] : state.catalog.brokers()) {
    if (state.live.count(id) > 0) live.push_back(broker.key);
  }
  return live;
}

Judgement Judge(const ControllerState& state, const TopicCreation& creation) {
  const std::string fault = FindTopicNameFault(creation.name);
  if (!fault.empty()) return RefuseField(state, "name", fault);
  if (const Topic* existing = state.catalog.FindTopic(creation.name)) {
    Judgement judgement = Refuse(state, ControllerError::kTopicAlreadyExists);
    judgement.result.topic = MakeTopicView(state.catalog, *existing);
    return judgement;
  }
  if (creation.partitions < 1 || creation.partitions > state.config.partitions_max) {
    return RefuseField(state, "partitions",
                       absl::StrCat("must be in [1, ", state.config.partitions_max, "]"));
  }
  const std::vector<ReplicaKey> live = LiveReplicas(state);
  const auto live_count = static_cast<uint32_t>(live.size());
  const uint32_t replicas = creation.replicas.value_or(std::min(kReplicasDefault, live_count));
  if (creation.replicas == 0u) return RefuseField(state, "replicas", "must be at least 1");
  if (replicas > live_count || replicas == 0) {
    Judgement judgement = Refuse(
        state, ControllerError::kNotEnoughNodes,
        absl::StrCat(replicas, " replicas need as many live nodes; ", live_count, " are alive"));
    judgement.result.live_nodes = live_count;
    return judgement;
  }
  Judgement judgement;
  judgement.topic = state.catalog.next_topic_id();
  judgement.records.push_back(
      EncodeCatalogRecord(Topic{judgement.topic, creation.name, creation.partitions, replicas}));
  const auto assignments = Place(live, creation.partitions, replicas, CountLoad(state.catalog));
  for (uint32_t index = 0; index < creation.partitions; ++index) {
    PartitionPlan plan;
    plan.id = PartitionId{judgement.topic, index};
    plan.assignment = assignments[index];
    judgement.records.push_back(EncodeCatalogRecord(plan));
  }
  judgement.records.push_back(EncodeCatalogRecord(
      NextIds{TopicId(judgement.topic.value() + 1), state.catalog.next_producer_id()}));
  return judgement;
}

// The block is read back before it is answered, and judged against everything committed, so no two
// blocks share an id, whoever was controller when they were given out.
Judgement Judge(const ControllerState& state, const ProducerIdAllocation& allocation) {
  if (allocation.count < 1 || allocation.count > kProducerIdsMax) {
    return RefuseField(state, "count", absl::StrCat("must be in [1, ", kProducerIdsMax, "]"));
  }
  Judgement judgement;
  judgement.first_producer_id = state.catalog.next_producer_id();
  if (judgement.first_producer_id > kNamedProducerIds - int64_t{allocation.count}) {
    return Refuse(state, ControllerError::kThrottled, "all producer ids are used up");
  }
  judgement.records.push_back(EncodeCatalogRecord(NextIds{
      state.catalog.next_topic_id(), judgement.first_producer_id + int64_t{allocation.count}}));
  return judgement;
}

Judgement Judge(const ControllerState& state, const TopicRemoval& removal) {
  if (IsInternalTopicName(removal.name)) return Refuse(state, ControllerError::kInternalTopic);
  const Topic* topic = state.catalog.FindTopic(removal.name);
  if (topic == nullptr || (removal.id.has_value() && *removal.id != topic->id)) {
    return Refuse(state, ControllerError::kUnknownTopic);
  }
  Judgement judgement;
  judgement.topic = topic->id;
  judgement.result.deleted = topic->id;
  judgement.records.push_back(EncodeCatalogRecord(TopicDeletion{topic->id, topic->name}));
  for (uint32_t index = 0; index < topic->partition_count; ++index) {
    judgement.records.push_back(EncodePartitionTombstone(PartitionId{topic->id, index}));
  }
  return judgement;
}

Broker MakeBroker(const BrokerRegistration& registration) {
  Broker broker;
  broker.key = registration.key;
  broker.incarnation = registration.incarnation;
  for (const NodeEndpoint& endpoint : registration.endpoints) {
    broker.endpoints.push_back(ListenerEndpoint{endpoint.listener, endpoint.address});
  }
  broker.software_version = registration.software_version;
  return broker;
}

// Empty when a registration says what it must, and no more than it may.
std::string FindFault(const BrokerRegistration& registration) {
  if (registration.endpoints.empty() || registration.key.id < NodeId(1) ||
      registration.key.directory.IsZero() || registration.incarnation < Incarnation(1)) {
    return "a registration names a node, a directory, an incarnation and an endpoint";
  }
  if (registration.incarnation >= shard::kIncarnationLimit) {
    return "the incarnation is out of range";
  }
  if (registration.endpoints.size() > kEndpointsMax) {
    return absl::StrCat("at most ", kEndpointsMax, " endpoints");
  }
  for (const NodeEndpoint& endpoint : registration.endpoints) {
    if (endpoint.listener.size() > kEndpointTextMax || endpoint.address.size() > kEndpointTextMax) {
      return absl::StrCat("a listener or an address is longer than ", kEndpointTextMax, " bytes");
    }
  }
  if (registration.software_version.size() > kSoftwareVersionMax) {
    return absl::StrCat("the software version is longer than ", kSoftwareVersionMax, " bytes");
  }
  return "";
}

Judgement Judge(const ControllerState& state, const BrokerRegistration& registration) {
  std::string fault = FindFault(registration);
  if (!fault.empty()) return Refuse(state, ControllerError::kInvalidRequest, std::move(fault));
  if (registration.lane_count != state.config.lane_count) {
    return Refuse(
        state, ControllerError::kInconsistentLaneCount,
        absl::StrCat("the cluster has ", state.config.lane_count,
                     " lanes, the directory was formatted with ", registration.lane_count));
  }
  const Broker broker = MakeBroker(registration);
  const Broker* known = state.catalog.FindBroker(registration.key.id);
  Judgement judgement;
  if (known != nullptr && *known == broker) return judgement;
  if (known != nullptr && known->key == broker.key && broker.incarnation < known->incarnation) {
    return Refuse(state, ControllerError::kFencedIncarnation,
                  "a newer process of this data directory has registered");
  }
  // Each start has an incarnation of its own, and no process changes its addresses.
  if (known != nullptr && known->key == broker.key && broker.incarnation == known->incarnation &&
      known->endpoints != broker.endpoints) {
    return Refuse(state, ControllerError::kFencedIncarnation,
                  "another process of this data directory, or of a copy, has registered");
  }
  if (known != nullptr && known->key != broker.key && state.live.count(registration.key.id) > 0) {
    return Refuse(state, ControllerError::kDuplicateRegistration,
                  "another data directory of this node id is alive");
  }
  judgement.records.push_back(EncodeCatalogRecord(broker));
  return judgement;
}

void Answer(Change& change, ControllerResult result) {
  const ControllerDone done = std::exchange(change.done, nullptr);
  if (done) done(std::move(result));
}

void FinishUnderWay(ControllerState& state, ControllerResult result) {
  Answer(state.under_way->change, std::move(result));
  state.under_way.reset();
}

void OnAppended(ControllerState& state, const shard::AppendResult& appended) {
  if (!state.under_way.has_value()) return;
  switch (appended.outcome) {
    case shard::AppendResult::Outcome::kCommitted:
      state.under_way->offset = appended.base_offset;
      return;
    case shard::AppendResult::Outcome::kRefused: {
      const bool throttled = appended.error == raft::RaftError::kThrottled;
      FinishUnderWay(state, Refusal(state, throttled ? ControllerError::kThrottled
                                                     : ControllerError::kNotController));
      return;
    }
    case shard::AppendResult::Outcome::kUnknown:
      FinishUnderWay(state, Refusal(state, ControllerError::kOutcomeUnknown));
      return;
  }
}

void Append(ControllerState& state, const std::vector<RecordFields>& records) {
  RecordsBuilder builder;
  for (const RecordFields& record : records) builder.Add(record);
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::AppendCall call;
  call.partition = kMetadataPartition;
  call.draft = builder.Finish(state.seams.clock.WallTimeMs());
  call.leader_epoch = state.lead_epoch;
  call.done = [mailbox](shard::AppendResult result) {
    PostOwn(mailbox, [result](ControllerState& owner) { OnAppended(owner, result); });
  };
  if (!PostTo(state, kMetadataPartition, std::move(call))) {
    FinishUnderWay(state, Refusal(state, ControllerError::kThrottled));
  }
}

// Judges the change under way with a fresh view of who is alive.
void Decide(ControllerState& state, const shard::PartitionDescription& metadata) {
  if (!state.under_way.has_value()) return;
  if (!CountLive(state, metadata)) {
    FinishUnderWay(state, Refusal(state, ControllerError::kNotController));
    return;
  }
  Judgement judgement = std::visit([&](const auto& request) { return Judge(state, request); },
                                   state.under_way->change.request);
  if (judgement.records.empty()) {
    judgement.result.hint = state.hint;
    judgement.result.catalog_offset = state.catalog.position();
    FinishUnderWay(state, std::move(judgement.result));
    return;
  }
  state.under_way->topic = judgement.topic;
  state.under_way->first_producer_id = judgement.first_producer_id;
  Append(state, judgement.records);
}

void Begin(ControllerState& state) {
  state.under_way = ChangeUnderWay{std::move(state.changes.front()), std::nullopt, TopicId(0), 0};
  state.changes.pop_front();
  Mailbox<Task>* mailbox = &state.mailbox;
  shard::DescribeCall call;
  call.partition = kMetadataPartition;
  call.done = [mailbox](shard::PartitionDescription description) {
    PostOwn(mailbox, [description = std::move(description)](ControllerState& owner) {
      Decide(owner, description);
    });
  };
  if (!PostTo(state, kMetadataPartition, std::move(call))) {
    FinishUnderWay(state, Refusal(state, ControllerError::kThrottled));
  }
}

// Answers the change under way once it has been read back.
void Conclude(ControllerState& state) {
  if (!state.under_way.has_value() || !state.under_way->offset.has_value()) return;
  if (state.catalog.position() <= *state.under_way->offset) return;
  ControllerResult result;
  result.hint = state.hint;
  result.catalog_offset = *state.under_way->offset;
  result.first_producer_id = state.under_way->first_producer_id;
  if (const Topic* topic = state.catalog.FindTopic(state.under_way->topic)) {
    result.topic = MakeTopicView(state.catalog, *topic);
  } else {
    result.deleted = state.under_way->topic;
  }
  FinishUnderWay(state, std::move(result));
}

// A caller whose time is up gets an answer; a change that is under way goes on without one.
void Expire(ControllerState& state) {
  if (state.under_way.has_value() && state.under_way->change.deadline <= state.now) {
    Answer(state.under_way->change, Refusal(state, ControllerError::kOutcomeUnknown));
  }
  for (auto change = state.changes.begin(); change != state.changes.end();) {
    if (change->deadline > state.now) {
      ++change;
      continue;
    }
    Answer(*change, Refusal(state, ControllerError::kThrottled, "its turn did not come in time"));
    change = state.changes.erase(change);
  }
}

}  // namespace

void AddChange(ControllerState& state, Change change) {
  if (!state.leads) {
    Answer(change, Refusal(state, ControllerError::kNotController));
  } else if (state.changes.size() >= state.config.changes_max) {
    Answer(change, Refusal(state, ControllerError::kThrottled));
  } else {
    state.changes.push_back(std::move(change));
  }
}

void RunChanges(ControllerState& state) {
  Conclude(state);
  Expire(state);
  while (state.leads && !state.under_way.has_value() && !state.changes.empty()) Begin(state);
}

void StopLeading(ControllerState& state) {
  state.leads = false;
  state.views.SetLive(nullptr);
  while (!state.changes.empty()) {
    Answer(state.changes.front(), Refusal(state, ControllerError::kNotController));
    state.changes.pop_front();
  }
  state.creations.clear();
}

MonoTime NextChangeDeadline(const ControllerState& state) {
  MonoTime next = kNever;
  if (state.under_way.has_value() && state.under_way->change.done != nullptr) {
    next = state.under_way->change.deadline;
  }
  for (const Change& change : state.changes) next = std::min(next, change.deadline);
  return next;
}

}  // namespace quorum::controller

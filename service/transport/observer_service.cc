#include "service/transport/observer_service.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "service/base/check.h"
#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "service/transport/controller_codec.h"
#include "service/transport/fencing.h"
#include "service/transport/fetch_answer_codec.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/request_codec.h"

namespace quorum::transport {
namespace {

// What one Metadata answer may hold. A cluster that has more is asked by name.
constexpr size_t kMetadataTopicsMax = 10'000;
constexpr size_t kMetadataPartitionsMax = 200'000;
constexpr Duration kRegistrationTimeout = std::chrono::seconds(30);

grpc::ServerUnaryReactor* Finish(grpc::ServerUnaryReactor* reactor, const grpc::Status& status) {
  reactor->Finish(status);
  return reactor;
}

grpc::Status NotImplemented(const char* sentence) {
  return CallError(v1::ERROR_REASON_NOT_IMPLEMENTED, sentence).ToGrpc();
}

void EncodeTopic(const controller::TopicView& topic, const LeaderHints& hints,
                 v1::MetadataResponse::Topic* message) {
  message->set_topic_id(topic.id.value());
  message->set_name(topic.name);
  for (uint32_t index = 0; index < topic.partitions.size(); ++index) {
    v1::MetadataResponse::Partition* partition = message->add_partitions();
    partition->set_partition(index);
    const shard::LeaderHint hint = hints.Find(PartitionId{topic.id, index});
    if (!hint.leader.has_value()) partition->set_error(v1::ERROR_CODE_LEADER_NOT_AVAILABLE);
    EncodeLeader(hint.leader, partition);
    if (hint.epoch > Epoch(0)) partition->set_leader_epoch(hint.epoch.value());
    for (const ReplicaKey& key : topic.partitions[index].assignment) {
      v1::ReplicaKey* replica = partition->add_replicas();
      replica->set_node_id(key.id.value());
      replica->set_directory_id(key.directory.ToBytes());
    }
  }
}

// Adds the topic that was asked for.
void EncodeAskedTopic(const controller::CatalogView& catalog, const LeaderHints& hints,
                      const v1::MetadataRequest::Topic& asked,
                      v1::MetadataResponse::Topic* message) {
  const std::shared_ptr<const controller::TopicView> topic =
      asked.has_topic_id() ? catalog.FindTopic(TopicId(asked.topic_id()))
                           : catalog.FindTopic(asked.name());
  if (topic != nullptr) {
    EncodeTopic(*topic, hints, message);
    return;
  }
  message->set_error(v1::ERROR_CODE_UNKNOWN_TOPIC_OR_PARTITION);
  if (asked.has_topic_id()) message->set_topic_id(asked.topic_id());
  message->set_name(asked.name());
}

// False when there are more than one answer may hold.
bool EncodeTopics(const controller::CatalogView& catalog, const LeaderHints& hints,
                  const v1::MetadataRequest& request, v1::MetadataResponse* response) {
  size_t partitions = 0;
  if (request.all_topics()) {
    for (const auto& topic : catalog.ListTopics("", kMetadataTopicsMax)) {
      partitions += topic->partitions.size();
      if (partitions > kMetadataPartitionsMax) return false;
      EncodeTopic(*topic, hints, response->add_topics());
    }
    return static_cast<size_t>(response->topics_size()) < kMetadataTopicsMax;
  }
  if (static_cast<size_t>(request.topics_size()) > kMetadataTopicsMax) return false;
  for (const v1::MetadataRequest::Topic& asked : request.topics()) {
    v1::MetadataResponse::Topic* topic = response->add_topics();
    EncodeAskedTopic(catalog, hints, asked, topic);
    partitions += static_cast<size_t>(topic->partitions_size());
    if (partitions > kMetadataPartitionsMax) return false;
  }
  return true;
}

void EncodeBrokers(const controller::CatalogView& catalog, v1::MetadataResponse* response) {
  for (const controller::NodeView& node : catalog.Nodes()) {
    v1::MetadataResponse::Broker* broker = response->add_brokers();
    EncodeIdentity({node.key, node.incarnation}, broker->mutable_identity());
    for (const controller::NodeEndpoint& endpoint : node.endpoints) {
      EncodeEndpoint(endpoint, broker->add_endpoints());
    }
  }
}

}  // namespace

grpc::ServerUnaryReactor* ObserverService::Fetch(grpc::CallbackServerContext* context,
                                                 const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  v1::FetchRequest message;
  // Deserialising consumes its buffer; a copy shares the bytes.
  grpc::ByteBuffer bytes = *request;
  if (!grpc::SerializationTraits<v1::FetchRequest>::Deserialize(&bytes, &message).ok()) {
    return Finish(reactor, RefusalOf(absl::InvalidArgumentError("not a FetchRequest"), self_));
  }
  absl::StatusOr<shard::LaneRequest> decoded = Decode(message, self_);
  if (!decoded.ok()) return Finish(reactor, RefusalOf(decoded.status(), self_));
  const std::optional<CallError> fenced = RefuseOldProcess(parts_.catalog, decoded->envelope.from);
  if (fenced.has_value()) return Finish(reactor, fenced->ToGrpc());
  shard::ShardApi& owner = parts_.shards.ForLane(decoded->envelope.lane);
  const bool taken =
      owner.Post(*std::move(decoded), [this, reactor, response](const shard::LaneResponse& answer) {
        if (const auto* refused = std::get_if<shard::RefusedRequest>(&answer.body)) {
          reactor->Finish(RefusalOf(refused->error, self_));
          return;
        }
        const auto* fetched = std::get_if<shard::FetchAnswer>(&answer.body);
        CHECK(fetched != nullptr);
        *response = EncodeFetchAnswer(answer.responder, *fetched);
        reactor->Finish(grpc::Status::OK);
      });
  if (!taken) return Finish(reactor, RefusalOf(shard::EnvelopeError::kThrottled, self_));
  return reactor;
}

grpc::ServerUnaryReactor* ObserverService::FetchSnapshot(
    grpc::CallbackServerContext* context, const v1::FetchSnapshotRequest* /*request*/,
    v1::FetchSnapshotResponse* /*response*/) {
  return Finish(context->DefaultReactor(),
                NotImplemented("This version keeps whole logs and makes no snapshots."));
}

grpc::ServerUnaryReactor* ObserverService::Metadata(grpc::CallbackServerContext* context,
                                                    const v1::MetadataRequest* request,
                                                    v1::MetadataResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::string& cluster_id = request->envelope().cluster_id();
  if (!cluster_id.empty() && cluster_id != self_.cluster_id) {
    return Finish(reactor, OtherCluster(self_.cluster_id).ToGrpc());
  }
  EncodeIdentity({self_.self, incarnation_}, response->mutable_responder());
  response->set_cluster_id(self_.cluster_id);
  const shard::LeaderHint hint = parts_.hints.Find(kMetadataPartition);
  if (hint.leader.has_value()) response->set_controller_id(hint.leader->id.value());
  if (hint.epoch > Epoch(0)) response->set_controller_epoch(hint.epoch.value());
  EncodeBrokers(parts_.catalog, response);
  const bool complete = EncodeTopics(parts_.catalog, parts_.hints, *request, response);
  if (!complete) {
    return Finish(reactor, InvalidField("topics", "too many for one answer: name fewer").ToGrpc());
  }
  return Finish(reactor, grpc::Status::OK);
}

grpc::ServerUnaryReactor* ObserverService::DiscoverBrokers(
    grpc::CallbackServerContext* context, const v1::DiscoverBrokersRequest* /*request*/,
    v1::DiscoverBrokersResponse* /*response*/) {
  return Finish(context->DefaultReactor(),
                NotImplemented("This version learns of nodes from the catalog and from its flags, "
                               "and does not gossip."));
}

grpc::ServerUnaryReactor* ObserverService::RegisterBroker(grpc::CallbackServerContext* context,
                                                          const v1::RegisterBrokerRequest* request,
                                                          v1::RegisterBrokerResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // Registration concerns no lane; the rest of the envelope is checked as everywhere.
  v1::Envelope head = request->envelope();
  head.set_lane(0);
  absl::StatusOr<shard::Envelope> envelope = DecodeEnvelope(head, self_);
  if (!envelope.ok()) return Finish(reactor, RefusalOf(envelope.status(), self_));
  controller::BrokerRegistration registration = DecodeRegistration(*request, envelope->from);
  registration.deadline = parts_.clock.Now() + std::min(kRegistrationTimeout, TimeLeft(*context));
  parts_.controller.RegisterBroker(
      std::move(registration), [this, reactor, response](const auto& result) {
        EncodeIdentity({self_.self, incarnation_}, response->mutable_responder());
        EncodeResult(result, response);
        reactor->Finish(grpc::Status::OK);
      });
  return reactor;
}

}  // namespace quorum::transport

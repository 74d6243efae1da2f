#include "service/controller/catalog_records.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "quorum/storage/v1/storage.pb.h"
#include "service/base/overloaded.h"

namespace quorum::controller {
namespace {

namespace wire = ::quorum::storage::v1;

constexpr uint32_t kVersion = 1;

std::string PartitionKey(PartitionId partition) {
  return absl::StrCat("partition/", partition.topic.value(), "/", partition.index);
}

std::string TopicKey(TopicId topic) { return absl::StrCat("topic/", topic.value()); }

void Fill(const ReplicaKey& key, ::quorum::v1::ReplicaKey* message) {
  message->set_node_id(key.id.value());
  message->set_directory_id(key.directory.ToBytes());
}

std::string Fill(const Broker& broker, wire::CatalogRecord* record) {
  wire::BrokerRegistration* message = record->mutable_broker_registration();
  message->set_node_id(broker.key.id.value());
  message->set_directory_id(broker.key.directory.ToBytes());
  message->set_incarnation(broker.incarnation.value());
  for (const ListenerEndpoint& endpoint : broker.endpoints) {
    ::quorum::v1::Endpoint* added = message->add_endpoints();
    added->set_listener(endpoint.listener);
    added->set_address(endpoint.address);
  }
  message->set_software_version(broker.software_version);
  return absl::StrCat("broker/", broker.key.id.value());
}

std::string Fill(const Topic& topic, wire::CatalogRecord* record) {
  wire::TopicRecord* message = record->mutable_topic();
  message->set_topic_id(topic.id.value());
  message->set_name(topic.name);
  message->set_partition_count(topic.partition_count);
  message->set_replica_count(topic.replica_count);
  return TopicKey(topic.id);
}

std::string Fill(const PartitionPlan& plan, wire::CatalogRecord* record) {
  wire::PartitionRecord* message = record->mutable_partition();
  message->set_topic_id(plan.id.topic.value());
  message->set_index(plan.id.index);
  for (const ReplicaKey& key : plan.assignment) Fill(key, message->add_assignment());
  message->set_state(plan.life == PartitionLife::kCreating ? wire::PartitionRecord::STATE_CREATING
                                                           : wire::PartitionRecord::STATE_CREATED);
  return PartitionKey(plan.id);
}

std::string Fill(const TopicDeletion& deletion, wire::CatalogRecord* record) {
  wire::TopicDeletion* message = record->mutable_topic_deletion();
  message->set_topic_id(deletion.id.value());
  message->set_name(deletion.name);
  return TopicKey(deletion.id);
}

std::string Fill(const NextIds& next, wire::CatalogRecord* record) {
  record->mutable_next_id()->set_topic_id(next.topic.value());
  record->mutable_next_id()->set_producer_id(next.producer);
  return "next-id";
}

absl::StatusOr<ReplicaKey> ReadKey(int32_t node, const std::string& directory) {
  const std::optional<DirectoryId> read = DirectoryId::FromBytes(directory);
  if (node < 1 || !read.has_value()) {
    return absl::DataLossError("a catalog record names an impossible replica");
  }
  return ReplicaKey{NodeId(node), *read};
}

absl::StatusOr<CatalogRecord> Read(const wire::BrokerRegistration& message) {
  absl::StatusOr<ReplicaKey> key = ReadKey(message.node_id(), message.directory_id());
  if (!key.ok()) return key.status();
  Broker broker;
  broker.key = *key;
  broker.incarnation = Incarnation(message.incarnation());
  for (const ::quorum::v1::Endpoint& endpoint : message.endpoints()) {
    broker.endpoints.push_back(ListenerEndpoint{endpoint.listener(), endpoint.address()});
  }
  broker.software_version = message.software_version();
  return CatalogRecord(std::move(broker));
}

absl::StatusOr<CatalogRecord> Read(const wire::TopicRecord& message) {
  if (message.topic_id() < 2 || message.name().empty()) {
    return absl::DataLossError("a catalog record describes an impossible topic");
  }
  return CatalogRecord(Topic{TopicId(message.topic_id()), message.name(), message.partition_count(),
                             message.replica_count()});
}

absl::StatusOr<CatalogRecord> Read(const wire::PartitionRecord& message) {
  PartitionPlan plan;
  plan.id = PartitionId{TopicId(message.topic_id()), message.index()};
  for (const ::quorum::v1::ReplicaKey& assigned : message.assignment()) {
    absl::StatusOr<ReplicaKey> key = ReadKey(assigned.node_id(), assigned.directory_id());
    if (!key.ok()) return key.status();
    plan.assignment.push_back(*key);
  }
  switch (message.state()) {
    case wire::PartitionRecord::STATE_CREATING:
      plan.life = PartitionLife::kCreating;
      break;
    case wire::PartitionRecord::STATE_CREATED:
      plan.life = PartitionLife::kCreated;
      break;
    default:
      return absl::UnimplementedError("a catalog record has a state of a newer version");
  }
  if (plan.assignment.empty()) return absl::DataLossError("a partition without replicas");
  return CatalogRecord(std::move(plan));
}

absl::StatusOr<CatalogRecord> Read(const wire::CatalogRecord& message) {
  switch (message.record_case()) {
    case wire::CatalogRecord::kBrokerRegistration:
      return Read(message.broker_registration());
    case wire::CatalogRecord::kTopic:
      return Read(message.topic());
    case wire::CatalogRecord::kPartition:
      return Read(message.partition());
    case wire::CatalogRecord::kTopicDeletion:
      return CatalogRecord(TopicDeletion{TopicId(message.topic_deletion().topic_id()),
                                         message.topic_deletion().name()});
    case wire::CatalogRecord::kNextId:
      return CatalogRecord(
          NextIds{TopicId(message.next_id().topic_id()), message.next_id().producer_id()});
    case wire::CatalogRecord::RECORD_NOT_SET:
      break;
  }
  return absl::UnimplementedError("a catalog record of an unknown kind");
}

}  // namespace

RecordFields EncodeCatalogRecord(const CatalogRecord& record) {
  wire::CatalogRecord message;
  message.set_version(kVersion);
  RecordFields fields;
  fields.key = std::visit([&](const auto& kind) { return Fill(kind, &message); }, record);
  fields.value = message.SerializeAsString();
  return fields;
}

RecordFields EncodePartitionTombstone(PartitionId partition) {
  RecordFields fields;
  fields.key = PartitionKey(partition);
  return fields;
}

absl::StatusOr<std::optional<CatalogRecord>> DecodeCatalogRecord(const RecordFields& fields) {
  if (!fields.value.has_value()) return std::optional<CatalogRecord>();
  wire::CatalogRecord message;
  if (!message.ParseFromString(*fields.value)) {
    return absl::DataLossError("a catalog record does not parse");
  }
  if (message.version() != kVersion) {
    return absl::UnimplementedError(
        absl::StrCat("a catalog record has version ", message.version()));
  }
  absl::StatusOr<CatalogRecord> read = Read(message);
  if (!read.ok()) return read.status();
  return std::optional<CatalogRecord>(*std::move(read));
}

}  // namespace quorum::controller

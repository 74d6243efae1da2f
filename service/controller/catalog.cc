#include "service/controller/catalog.h"

#include <algorithm>
#include <string>
#include <variant>

namespace quorum::controller {

bool Catalog::Apply(Offset offset, const CatalogRecord& record) {
  return std::visit([&](const auto& kind) { return ApplyRecord(offset, kind); }, record);
}

bool Catalog::ApplyRecord(Offset, const Broker& broker) {
  brokers_.insert_or_assign(broker.key.id, broker);
  return true;
}

bool Catalog::ApplyRecord(Offset, const Topic& topic) {
  if (topics_.count(topic.id) > 0 || names_.count(topic.name) > 0) return false;
  topics_.emplace(topic.id, topic);
  names_.emplace(topic.name, topic.id);
  next_.topic = std::max(next_.topic, TopicId(topic.id.value() + 1));
  return true;
}

bool Catalog::ApplyRecord(Offset offset, const PartitionPlan& plan) {
  if (topics_.count(plan.id.topic) == 0) return false;
  const auto found = partitions_.find(plan.id);
  if (found == partitions_.end()) {
    PartitionPlan created = plan;
    created.created_at = offset;
    created.version = offset;
    partitions_.emplace(plan.id, std::move(created));
    return true;
  }
  // A created partition never goes back: later replicas must start blank for ever.
  if (found->second.life == PartitionLife::kCreated && plan.life == PartitionLife::kCreating) {
    return false;
  }
  const Offset created_at = found->second.created_at;
  found->second = plan;
  found->second.created_at = created_at;
  found->second.version = offset;
  return true;
}

bool Catalog::ApplyRecord(Offset, const TopicDeletion& deletion) {
  const auto found = topics_.find(deletion.id);
  if (found == topics_.end()) return false;
  names_.erase(found->second.name);
  topics_.erase(found);
  const auto first = partitions_.lower_bound(PartitionId{deletion.id, 0});
  auto last = first;
  while (last != partitions_.end() && last->first.topic == deletion.id) ++last;
  partitions_.erase(first, last);
  return true;
}

bool Catalog::ApplyRecord(Offset, const NextIds& next) {
  next_.topic = std::max(next_.topic, next.topic);
  next_.producer = std::max(next_.producer, next.producer);
  return true;
}

const Topic* Catalog::FindTopic(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : FindTopic(found->second);
}

const Topic* Catalog::FindTopic(TopicId id) const {
  const auto found = topics_.find(id);
  return found == topics_.end() ? nullptr : &found->second;
}

const PartitionPlan* Catalog::FindPartition(PartitionId id) const {
  const auto found = partitions_.find(id);
  return found == partitions_.end() ? nullptr : &found->second;
}

const Broker* Catalog::FindBroker(NodeId id) const {
  const auto found = brokers_.find(id);
  return found == brokers_.end() ? nullptr : &found->second;
}

}  // namespace quorum::controller

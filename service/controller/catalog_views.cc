#include "service/controller/catalog_views.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quorum::controller {
namespace {

constexpr char kMetadataName[] = "__metadata";

std::shared_ptr<const TopicView> MetadataView(const std::vector<ReplicaKey>& voters) {
  auto view = std::make_shared<TopicView>();
  view->id = kMetadataPartition.topic;
  view->name = kMetadataName;
  view->internal = true;
  view->replica_count = static_cast<uint32_t>(voters.size());
  PartitionView partition;
  partition.assignment = voters;
  partition.created = !voters.empty();
  view->partitions.push_back(std::move(partition));
  return view;
}

NodeView MakeNodeView(const Broker& broker) {
  NodeView view;
  view.key = broker.key;
  view.incarnation = broker.incarnation;
  for (const ListenerEndpoint& endpoint : broker.endpoints) {
    view.endpoints.push_back(NodeEndpoint{endpoint.listener, endpoint.address});
  }
  view.software_version = broker.software_version;
  return view;
}

}  // namespace

std::shared_ptr<const TopicView> MakeTopicView(const Catalog& catalog, const Topic& topic) {
  auto view = std::make_shared<TopicView>();
  view->id = topic.id;
  view->name = topic.name;
  view->replica_count = topic.replica_count;
  for (uint32_t index = 0; index < topic.partition_count; ++index) {
    const PartitionPlan* plan = catalog.FindPartition(PartitionId{topic.id, index});
    if (plan == nullptr) break;
    view->partitions.push_back(
        PartitionView{plan->assignment, plan->life == PartitionLife::kCreated, plan->version});
  }
  return view;
}

CatalogViews::CatalogViews() {
  MutexLock lock(&mutex_);
  Add(MetadataView({}));
}

void CatalogViews::Update(const Catalog& catalog, const std::set<TopicId>& changed) {
  std::vector<std::shared_ptr<const TopicView>> made;
  for (const TopicId id : changed) {
    const Topic* topic = catalog.FindTopic(id);
    if (topic != nullptr) made.push_back(MakeTopicView(catalog, *topic));
  }
  std::map<NodeId, NodeView> nodes;
  for (const auto& [id, broker] : catalog.brokers()) nodes.emplace(id, MakeNodeView(broker));
  MutexLock lock(&mutex_);
  for (const TopicId id : changed) Remove(id);
  for (auto& view : made) Add(std::move(view));
  for (auto& [id, node] : nodes) {
    const auto before = nodes_.find(id);
    if (before != nodes_.end()) node.live = before->second.live;
  }
  nodes_ = std::move(nodes);
  counts_.topics = static_cast<uint32_t>(catalog.topics().size());
  counts_.partitions = static_cast<uint32_t>(catalog.partitions().size());
}

void CatalogViews::SetMetadataReplicas(const std::vector<ReplicaKey>& voters) {
  auto view = MetadataView(voters);
  MutexLock lock(&mutex_);
  Remove(kMetadataPartition.topic);
  Add(std::move(view));
}

void CatalogViews::SetLive(const std::set<NodeId>* live) {
  MutexLock lock(&mutex_);
  for (auto& [id, node] : nodes_) {
    node.live = live == nullptr ? std::nullopt : std::optional<bool>(live->count(id) > 0);
  }
}

void CatalogViews::Remove(TopicId id) {
  const auto found = topics_.find(id);
  if (found == topics_.end()) return;
  const auto name = names_.find(found->second->name);
  if (name != names_.end() && name->second == id) names_.erase(name);
  topics_.erase(found);
}

void CatalogViews::Add(std::shared_ptr<const TopicView> view) {
  names_[view->name] = view->id;
  topics_[view->id] = std::move(view);
}

std::shared_ptr<const TopicView> CatalogViews::FindTopic(const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : topics_.at(found->second);
}

std::shared_ptr<const TopicView> CatalogViews::FindTopic(TopicId id) const {
  MutexLock lock(&mutex_);
  const auto found = topics_.find(id);
  return found == topics_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<const TopicView>> CatalogViews::ListTopics(const std::string& after,
                                                                       size_t count) const {
  std::vector<std::shared_ptr<const TopicView>> page;
  MutexLock lock(&mutex_);
  for (auto next = names_.upper_bound(after); next != names_.end() && page.size() < count; ++next) {
    page.push_back(topics_.at(next->second));
  }
  return page;
}

std::vector<NodeView> CatalogViews::Nodes() const {
  std::vector<NodeView> nodes;
  MutexLock lock(&mutex_);
  nodes.reserve(nodes_.size());
  for (const auto& [id, node] : nodes_) nodes.push_back(node);
  return nodes;
}

std::optional<Incarnation> CatalogViews::Registered(const ReplicaKey& key) const {
  MutexLock lock(&mutex_);
  const auto found = nodes_.find(key.id);
  if (found == nodes_.end() || found->second.key != key) return std::nullopt;
  return found->second.incarnation;
}

CatalogCounts CatalogViews::Counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace quorum::controller

#include "tests/service/transport/fakes.h"

namespace quorum::transport {

ReplicaKey KeyOf(int32_t node) {
  return ReplicaKey{NodeId(node),
                    DirectoryId{static_cast<uint64_t>(node), static_cast<uint64_t>(node)}};
}

void FakeCatalog::Add(uint64_t id, const std::string& name, uint32_t partitions,
                      const std::vector<int32_t>& replicas) {
  auto topic = std::make_shared<controller::TopicView>();
  topic->id = TopicId(id);
  topic->name = name;
  topic->internal = name == "__metadata";
  topic->replica_count = static_cast<uint32_t>(replicas.size());
  controller::PartitionView partition;
  partition.created = true;
  partition.plan_version = Offset(7);
  for (const int32_t node : replicas) partition.assignment.push_back(KeyOf(node));
  topic->partitions.assign(partitions, partition);
  MutexLock lock(&mutex_);
  topics_[name] = std::move(topic);
}

void FakeCatalog::Remove(const std::string& name) {
  MutexLock lock(&mutex_);
  topics_.erase(name);
}

void FakeCatalog::Lag(int lookups) {
  MutexLock lock(&mutex_);
  lag_ = lookups;
  shown_ = topics_;
}

int FakeCatalog::lag() const {
  MutexLock lock(&mutex_);
  return lag_;
}

std::shared_ptr<const controller::TopicView> FakeCatalog::FindTopic(const std::string& name) const {
  MutexLock lock(&mutex_);
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : found->second;
}

std::shared_ptr<const controller::TopicView> FakeCatalog::FindTopic(TopicId id) const {
  MutexLock lock(&mutex_);
  const auto& shown = lag_ > 0 ? shown_ : topics_;
  if (lag_ > 0) --lag_;
  for (const auto& [name, topic] : shown) {
    if (topic->id == id) return topic;
  }
  return nullptr;
}

std::vector<std::shared_ptr<const controller::TopicView>> FakeCatalog::ListTopics(
    const std::string& after, size_t count) const {
  std::vector<std::shared_ptr<const controller::TopicView>> page;
  MutexLock lock(&mutex_);
  for (auto next = topics_.upper_bound(after); next != topics_.end() && page.size() < count;
       ++next) {
    page.push_back(next->second);
  }
  return page;
}

controller::CatalogCounts FakeCatalog::Counts() const {
  controller::CatalogCounts counts;
  MutexLock lock(&mutex_);
  for (const auto& [name, topic] : topics_) {
    if (topic->internal) continue;
    ++counts.topics;
    counts.partitions += static_cast<uint32_t>(topic->partitions.size());
  }
  return counts;
}

}  // namespace quorum::transport

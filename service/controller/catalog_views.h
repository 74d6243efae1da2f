// CatalogViews: the catalog as other threads may look at it: immutable topics behind shared
// pointers, swapped under one lock when the catalog moves.
//
// Thread: Update on the controller's thread; everything else on any.

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/controller/catalog.h"
#include "service/controller/catalog_api.h"

namespace quorum::controller {

class CatalogViews : public CatalogView {
 public:
  // Knows `__metadata` from the beginning.
  CatalogViews();

  // Takes over what the catalog says of the topics `changed`, of the nodes, and of `__metadata`,
  // whose voters and observers are not in the catalog but in its own log. `live` is null where
  // nobody hears from nodes.
  void Update(const Catalog& catalog, const std::set<TopicId>& changed);
  void SetMetadataReplicas(const std::vector<ReplicaKey>& voters);
  void SetLive(const std::set<NodeId>* live);

  std::shared_ptr<const TopicView> FindTopic(const std::string& name) const override;
  std::shared_ptr<const TopicView> FindTopic(TopicId id) const override;
  std::vector<std::shared_ptr<const TopicView>> ListTopics(const std::string& after,
                                                           size_t count) const override;
  std::vector<NodeView> Nodes() const override;
  std::optional<Incarnation> Registered(const ReplicaKey& key) const override;
  CatalogCounts Counts() const override;

 private:
  void Remove(TopicId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Add(std::shared_ptr<const TopicView> view) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::map<TopicId, std::shared_ptr<const TopicView>> topics_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, TopicId> names_ ABSL_GUARDED_BY(mutex_);
  std::map<NodeId, NodeView> nodes_ ABSL_GUARDED_BY(mutex_);
  CatalogCounts counts_ ABSL_GUARDED_BY(mutex_);
};

// What the transport shows of one topic.
std::shared_ptr<const TopicView> MakeTopicView(const Catalog& catalog, const Topic& topic);

}  // namespace quorum::controller

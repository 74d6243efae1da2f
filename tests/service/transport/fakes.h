// What the transport stands between, as the tests need it: shards that answer what they are told
// to, a catalog with a few topics, a controller that notes what it is asked.
//
// Thread: any.

#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "service/controller/catalog_api.h"
#include "service/shard/shard_api.h"

namespace quorum::transport {

// A call or answer that a test waits for, for 30 s at most.
class Latch {
 public:
  void Set() {
    MutexLock lock(&mutex_);
    set_ = true;
    changed_.NotifyAll();
  }
  // False when the time is over.
  [[nodiscard]] bool Wait() {
    MutexLock lock(&mutex_);
    while (!set_) {
      if (!changed_.WaitFor(&mutex_, std::chrono::seconds(30)) && !set_) return false;
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ ABSL_GUARDED_BY(mutex_) = false;
};

// All lanes and partitions in one; answers on the posting thread.
class FakeShards : public shard::ShardDirectory, public shard::ShardApi {
 public:
  using OnRequest = std::function<void(shard::LaneRequest, shard::PeerReply)>;
  using OnCall = std::function<void(shard::ShardCall)>;

  // Set before the first call comes. Without them, the mailbox is full.
  OnRequest on_request;
  OnCall on_call;

  shard::ShardApi& ForPartition(PartitionId /*partition*/) override { return *this; }
  shard::ShardApi& ForLane(Lane /*lane*/) override { return *this; }

  bool Post(shard::LaneRequest request, shard::PeerReply reply) override {
    if (!on_request) return false;
    on_request(std::move(request), std::move(reply));
    return true;
  }
  bool Post(shard::ShardCall call) override {
    if (!on_call) return false;
    on_call(std::move(call));
    return true;
  }
};

class FakeCatalog : public controller::CatalogView {
 public:
  // A topic whose partitions are all assigned to `nodes`, on directories of the same number.
  void Add(uint64_t id, const std::string& name, uint32_t partitions,
           const std::vector<int32_t>& nodes);
  void Remove(const std::string& name);
  // So many lookups by id find what there was before this.
  void Lag(int lookups);
  int lag() const;

  std::shared_ptr<const controller::TopicView> FindTopic(const std::string& name) const override;
  std::shared_ptr<const controller::TopicView> FindTopic(TopicId id) const override;
  std::vector<std::shared_ptr<const controller::TopicView>> ListTopics(const std::string& after,
                                                                       size_t count) const override;
  std::vector<controller::NodeView> Nodes() const override { return nodes; }
  std::optional<Incarnation> Registered(const ReplicaKey& key) const override {
    for (const controller::NodeView& node : nodes) {
      if (node.key == key) return node.incarnation;
    }
    return std::nullopt;
  }
  controller::CatalogCounts Counts() const override;

  std::vector<controller::NodeView> nodes;

 private:
  mutable Mutex mutex_;
  using Topics = std::map<std::string, std::shared_ptr<const controller::TopicView>>;
  Topics topics_ ABSL_GUARDED_BY(mutex_);
  Topics shown_ ABSL_GUARDED_BY(mutex_);
  mutable int lag_ ABSL_GUARDED_BY(mutex_) = 0;
};

class FakeController : public controller::ControllerApi {
 public:
  // What every call is answered with.
  controller::ControllerResult result;
  std::vector<controller::TopicCreation> creations;
  std::vector<controller::TopicRemoval> removals;
  std::vector<controller::BrokerRegistration> registrations;

  void CreateTopic(controller::TopicCreation creation, controller::ControllerDone done) override {
    creations.push_back(std::move(creation));
    done(result);
  }
  void DeleteTopic(controller::TopicRemoval removal, controller::ControllerDone done) override {
    removals.push_back(std::move(removal));
    done(result);
  }
  void RegisterBroker(controller::BrokerRegistration registration,
                      controller::ControllerDone done) override {
    registrations.push_back(std::move(registration));
    done(result);
  }
  // Numbers the blocks itself; only errors come from `result`.
  void AllocateProducerIds(controller::ProducerIdAllocation allocation,
                           controller::ControllerDone done) override {
    controller::ControllerResult block = result;
    block.first_producer_id = next_producer_id.fetch_add(int64_t{allocation.count});
    ++allocations;
    done(block);
  }
  std::atomic<int64_t> next_producer_id{0};
  std::atomic<int> allocations{0};
};

// Stands still.
class FixedClock : public Clock {
 public:
  MonoTime Now() const override { return MonoTime(std::chrono::seconds(1'000)); }
  int64_t WallTimeMs() const override { return 1'700'000'000'000; }
};

// The key of a node on the directory of the same number.
ReplicaKey KeyOf(int32_t node);

}  // namespace quorum::transport

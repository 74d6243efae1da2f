// PartitionGather: asks about many partitions, each at its leader, and puts the answers together in
// the order of the request. For calls that only read and may be repeated: ListOffsets and
// DescribeQuorum, whose messages have the same shape.
//
// A round asks this node's own replicas about everything that is still open. What another node
// leads is then asked there, in one call per node; what nobody answers is asked again in the next
// round, until the deadline.
//
// Lifecycle: Run makes one, which lives until `done` has run. Thread: any.

#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "service/base/mutex.h"
#include "service/transport/client_parts.h"
#include "service/transport/partition_lookup.h"
#include "service/transport/peer_refusal.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {

struct GatherOptions {
  bool may_forward = true;
  // Any node's own view will do.
  bool stale_ok = false;
  MonoTime deadline = kNever;
  std::function<bool()> cancelled;
};

// `Traits` names the messages and says how an entry is filled:
//   using Request, Response;
//   static const char* Method();
//   static void FillTopic(const controller::TopicView&, Response::Topic*);
//   // At the very end.
//   static void Finish(const ClientParts&, Response*);
//   // False when the leader cannot say it yet.
//   static bool Fill(const ClientParts&, const shard::PartitionDescription&, bool stale,
//                    Response::Partition*);
template <typename Traits>
class PartitionGather : public std::enable_shared_from_this<PartitionGather<Traits>> {
 public:
  using Request = typename Traits::Request;
  using Response = typename Traits::Response;
  using Partition = typename Response::Partition;
  using Done = std::function<void()>;

  // Fills `response`; `request` and `response` must live until `done` has run.
  static void Run(ClientParts& parts, const Request& request, GatherOptions options,
                  Response* response, Done done) {
    std::shared_ptr<PartitionGather> gather(
        new PartitionGather(parts, std::move(options), response, std::move(done)));
    gather->Expand(request);
    gather->Round();
  }

 private:
  struct Item {
    std::string topic;
    FoundPartition found;
    Partition* answer;
    bool open = true;
    // What this node's own replica said, in this round.
    shard::PartitionDescription description;
  };

  PartitionGather(ClientParts& parts, GatherOptions options, Response* response, Done done)
      : parts_(parts), options_(std::move(options)), response_(response), done_(std::move(done)) {}

  void Expand(const Request& request) {
    for (const auto& asked : request.topics()) {
      auto* topic = response_->add_topics();
      topic->set_topic(asked.topic());
      const auto view = parts_.catalog.FindTopic(asked.topic());
      if (view == nullptr) {
        *topic->mutable_error() = UnknownTopic(asked.topic()).ToRpc();
        continue;
      }
      Traits::FillTopic(*view, topic);
      if (asked.partitions().empty()) {
        const uint32_t count = static_cast<uint32_t>(view->partitions.size());
        for (uint32_t index = 0; index < count; ++index) AddItem(asked.topic(), index, topic);
      }
      for (const uint32_t index : asked.partitions()) AddItem(asked.topic(), index, topic);
    }
  }

  template <typename Topic>
  void AddItem(const std::string& name, uint32_t index, Topic* topic) {
    Partition* answer = topic->add_partitions();
    answer->set_partition(index);
    std::optional<FoundPartition> found = FindPartition(parts_.catalog, name, index);
    if (!found.has_value()) {
      *answer->mutable_error() = UnknownPartition(name, index).ToRpc();
      return;
    }
    items_.push_back(Item{name, *std::move(found), answer, true, {}});
  }

  // Asks this node's own replicas.
  void Round() {
    Begin(items_.size() + 1);
    for (Item& item : items_) {
      if (!item.open) {
        End();
        continue;
      }
      shard::DescribeCall call;
      call.partition = item.found.id;
      call.done = [self = this->shared_from_this(),
                   &item](shard::PartitionDescription description) {
        item.description = std::move(description);
        self->End();
      };
      if (!parts_.shards.ForPartition(item.found.id).Post(std::move(call))) {
        item.description.error = raft::RaftError::kThrottled;
        End();
      }
    }
    after_ = &PartitionGather::TakeOwnAnswers;
    End();
  }

  void TakeOwnAnswers() {
    std::map<NodeId, std::vector<Item*>> elsewhere;
    for (Item& item : items_) {
      if (!item.open) continue;
      const shard::PartitionDescription& own = item.description;
      const bool here = own.error == raft::RaftError::kNone;
      if (here && own.hint.epoch > Epoch(0)) parts_.hints.Note(item.found.id, own.hint);
      const bool leads = here && own.role == raft::RoleKind::kLeader;
      if (here && (leads || options_.stale_ok) && Traits::Fill(parts_, own, !leads, item.answer)) {
        item.open = false;
        continue;
      }
      const std::optional<NodeId> target = Elsewhere(item);
      if (target.has_value()) elsewhere[*target].push_back(&item);
    }
    if (!options_.may_forward) {
      Conclude();
      return;
    }
    Begin(elsewhere.size() + 1);
    for (const auto& [node, items] : elsewhere) Ask(node, items);
    after_ = &PartitionGather::NextRound;
    End();
  }

  // Who may know, beside this node.
  std::optional<NodeId> Elsewhere(const Item& item) const {
    const NodeId self = parts_.self.self.id;
    const shard::LeaderHint hint = parts_.hints.Find(item.found.id);
    // Every third round asks around, in case the hint is old.
    if (hint.leader.has_value() && hint.leader->id != self && rounds_ % 3 != 2) {
      return hint.leader->id;
    }
    const std::vector<NodeId>& replicas = item.found.replicas;
    if (replicas.empty()) return std::nullopt;
    const NodeId replica = replicas[rounds_ % replicas.size()];
    if (replica == self) return std::nullopt;
    return replica;
  }

  void Ask(NodeId node, const std::vector<Item*>& items) {
    Request request;
    for (const Item* item : items) {
      auto* topic = request.add_topics();
      topic->set_topic(item->topic);
      topic->add_partitions(item->found.id.index);
    }
    request.set_stale_ok(options_.stale_ok);
    request.set_forwarded_by(parts_.self.self.id.value());
    request.set_cluster_id(parts_.self.cluster_id);
    const Duration left = options_.deadline - parts_.clock.Now();
    StartUnary<Request, Response>(
        parts_.calls, parts_.channels.Get(node, ChannelUse::kForward), Traits::Method(),
        std::move(request), std::max<Duration>(std::min<Duration>(left, kHopMax), Duration(1)),
        [self = this->shared_from_this(), items](const grpc::Status& status,
                                                 const Response& response) {
          if (status.ok()) self->TakeAnswers(items, response);
          self->End();
        });
  }

  // The answer has the shape of the request: one partition in each topic.
  void TakeAnswers(const std::vector<Item*>& items, const Response& response) {
    if (static_cast<size_t>(response.topics_size()) != items.size()) return;
    for (size_t i = 0; i < items.size(); ++i) {
      const auto& topic = response.topics(static_cast<int>(i));
      if (topic.has_error() || topic.partitions_size() != 1) continue;
      const Partition& answer = topic.partitions(0);
      if (answer.partition() != items[i]->found.id.index) continue;
      if (answer.has_error()) {
        const std::optional<shard::LeaderHint> hint = HintIn(parts_, answer.error());
        if (hint.has_value()) parts_.hints.Note(items[i]->found.id, *hint);
        continue;
      }
      *items[i]->answer = answer;
      items[i]->open = false;
    }
  }

  void NextRound() {
    ++rounds_;
    bool open = false;
    for (const Item& item : items_) open = open || item.open;
    if (!open || options_.cancelled() || parts_.clock.Now() + kPause >= options_.deadline) {
      Conclude();
      return;
    }
    RunAfter(kPause, [self = this->shared_from_this()] { self->Round(); });
  }

  void Conclude() {
    for (Item& item : items_) {
      if (!item.open) continue;
      const shard::LeaderHint hint = parts_.hints.Find(item.found.id);
      if (hint.leader.has_value()) item.answer->set_leader_id(hint.leader->id.value());
      if (hint.epoch > Epoch(0)) item.answer->set_leader_epoch(hint.epoch.value());
      *item.answer->mutable_error() = WhyOpen(item, hint).ToRpc();
    }
    Traits::Finish(parts_, response_);
    done_();
  }

  CallError WhyOpen(const Item& item, shard::LeaderHint hint) const {
    if (item.description.quarantine.has_value()) {
      return CallError(v1::ERROR_REASON_STORAGE_FAILED, "the replica asked is quarantined");
    }
    // After asking everybody until the end, a hint is worth nothing.
    if (options_.may_forward || hint.leader == parts_.self.self) hint.leader.reset();
    return NotLeader(parts_, hint);
  }

  void Begin(size_t steps) {
    MutexLock lock(&mutex_);
    steps_ = steps;
  }

  // Ends one of the steps begun; the last one goes on.
  void End() {
    {
      MutexLock lock(&mutex_);
      if (--steps_ > 0) return;
    }
    (this->*after_)();
  }

  static constexpr Duration kPause = std::chrono::milliseconds(50);
  // One call to another node, which answers at once.
  static constexpr Duration kHopMax = std::chrono::seconds(2);

  ClientParts& parts_;
  const GatherOptions options_;
  Response* const response_;
  const Done done_;
  // Filled once; each item is then touched by the one step that has it.
  std::vector<Item> items_;
  size_t rounds_ = 0;
  // What follows the steps of now. Set before the last of them can end.
  void (PartitionGather::*after_)() = nullptr;
  Mutex mutex_;
  size_t steps_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quorum::transport

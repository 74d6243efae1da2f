#include "tests/sim/topics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::sim {

using controller::ControllerError;
using controller::ControllerResult;

Topics::Topics(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng)
    : world_(*world), nodes_(*nodes), prng_(prng) {
  constexpr int kPartitionsMax = 4;
  int left = world_.options.topics.partitions;
  while (left > 0) {
    const int partitions = static_cast<int>(prng_.Between(1, std::min(left, kPartitionsMax)));
    Topic& topic = Add(static_cast<uint32_t>(partitions));
    // The first is there from the beginning.
    topic.late = topics_.size() > 1 && left <= world_.options.topics.late_partitions;
    left -= partitions;
  }
}

Topics::Topic& Topics::Add(uint32_t partitions) {
  Topic topic;
  topic.name = absl::StrCat("topic-", topics_.size());
  topic.partitions = partitions;
  topics_.push_back(topic);
  return topics_.back();
}

void Topics::Start() {
  for (size_t i = 0; i < topics_.size(); ++i) {
    if (!topics_[i].late) WishFor(i, Wish::kExists);
  }
}

void Topics::GoOn(Duration length) {
  going_on_ = true;
  for (size_t i = 0; i < topics_.size(); ++i) {
    if (topics_[i].late) {
      world_.queue.After(prng_.Between(Duration::zero(), length), [this, i] {
        if (topics_[i].wishes == 0) WishFor(i, Wish::kExists);
      });
    } else if (topics_[i].fulfilled) {
      OnFulfilled(i);
    }
  }
}

void Topics::Settle(IsLost is_lost) {
  going_on_ = false;
  settled_ = true;
  is_lost_ = std::move(is_lost);
  // What would come later comes now.
  for (size_t i = 0; i < topics_.size(); ++i) {
    if (topics_[i].wish == Wish::kIsGone && topics_[i].fulfilled) WishFor(i, Wish::kExists);
  }
  Add(1);
  WishFor(topics_.size() - 1, Wish::kExists);
  DeleteLost();
}

void Topics::DeleteLost() {
  for (size_t i = 0; i < topics_.size(); ++i) {
    const controller::Topic* topic = world_.catalog.catalog().FindTopic(topics_[i].name);
    if (topic == nullptr || topics_[i].wish == Wish::kIsGone || !is_lost_(topic->id)) continue;
    world_.tracer.Note(NodeId(0), absl::StrCat(topic->name, " is lost, and deleted"));
    WishFor(i, Wish::kIsGone);
  }
  world_.queue.After(world_.options.raft.election_timeout, [this] { DeleteLost(); });
}

std::string Topics::WhatIsMissing() const {
  for (const Topic& topic : topics_) {
    if (topic.fulfilled) continue;
    return absl::StrCat(topic.name,
                        topic.wish == Wish::kExists ? " is not created" : " is not deleted");
  }
  return "";
}

void Topics::WishFor(size_t index, Wish wish) {
  Topic& topic = topics_[index];
  topic.wish = wish;
  topic.fulfilled = false;
  Try(index, ++topic.wishes, Duration::zero());
}

void Topics::Try(size_t index, uint64_t wishes, Duration delay) {
  world_.queue.After(delay, [this, index, wishes] {
    if (topics_[index].wishes == wishes && !topics_[index].fulfilled) Ask(index);
  });
}

SimNode& Topics::ChooseNode() {
  if (controller_.has_value() && prng_.Chance(850'000)) {
    return *nodes_[static_cast<size_t>(controller_->value() - 1)];
  }
  return *nodes_[prng_.Below(nodes_.size())];
}

void Topics::Ask(size_t index) {
  SimNode& node = ChooseNode();
  if (!node.up()) {
    controller_.reset();
    Try(index, topics_[index].wishes, world_.options.raft.election_timeout / 4);
    return;
  }
  Attempt attempt;
  attempt.topic = index;
  attempt.wish = topics_[index].wish;
  attempt.node = node.id();
  attempt.sent_at = world_.catalog.position();
  const uint64_t id = ++last_attempt_;
  attempts_.emplace(id, attempt);
  world_.tracer.Note(
      node.id(), absl::StrCat("is asked to ", attempt.wish == Wish::kExists ? "create " : "delete ",
                              topics_[index].name));
  Send(id, node);
}

void Topics::Send(uint64_t id, SimNode& node) {
  const Attempt& attempt = attempts_.at(id);
  const Topic& topic = topics_[attempt.topic];
  const Duration election = world_.options.raft.election_timeout;
  const MonoTime deadline =
      node.clock().Now() + prng_.Between(election, world_.options.topics.deadline_max);
  const auto done = [this, id](const ControllerResult& result) { OnAnswer(id, result); };
  if (attempt.wish == Wish::kIsGone) {
    controller::TopicRemoval removal;
    removal.name = topic.name;
    removal.deadline = deadline;
    node.controller()->DeleteTopic(removal, done);
    return;
  }
  controller::TopicCreation creation;
  creation.name = topic.name;
  creation.partitions = topic.partitions;
  const bool wide = prng_.Chance(world_.options.topics.wide_ppm);
  const auto voters = static_cast<uint64_t>(world_.options.voter_nodes);
  // When everything is healed, some nodes may be lost for ever: as many replicas as there can be.
  if (!settled_) {
    creation.replicas = static_cast<uint32_t>(wide ? voters : 1 + prng_.Below(voters));
  }
  creation.deadline = deadline;
  node.controller()->CreateTopic(creation, done);
}

void Topics::OnAnswer(uint64_t id, const ControllerResult& result) {
  world_.tracer.Mix(id << 8 | static_cast<uint64_t>(result.error));
  Attempt& attempt = attempts_.at(id);
  if (attempt.outcome != Outcome::kPending) {
    world_.failure.Report("admin", topics_[attempt.topic].name, " a call is answered twice");
    return;
  }
  const bool fulfilled = Judge(attempt, result);
  world_.tracer.Note(attempt.node,
                     absl::StrCat("answers about ", topics_[attempt.topic].name, ": ",
                                  fulfilled ? "done" : "not done", ", error ",
                                  static_cast<int>(result.error), " ", result.message));
  if (result.hint.leader.has_value()) {
    controller_ = result.hint.leader->id;
  } else {
    controller_.reset();
  }
  Topic& topic = topics_[attempt.topic];
  // It may wish for something else by now, and has asked for that already.
  if (topic.wish != attempt.wish || topic.fulfilled) return;
  if (fulfilled) {
    topic.fulfilled = true;
    OnFulfilled(attempt.topic);
    return;
  }
  const Duration election = world_.options.raft.election_timeout;
  Try(attempt.topic, topic.wishes, prng_.Between(Duration::zero(), election / 2));
}

bool Topics::Judge(Attempt& attempt, const ControllerResult& result) {
  attempt.outcome = Outcome::kRefused;
  switch (result.error) {
    case ControllerError::kNone:
      attempt.outcome = Outcome::kDone;
      CheckDone(attempt, result);
      return true;
    case ControllerError::kOutcomeUnknown:
      attempt.outcome = Outcome::kUnknown;
      return false;
    case ControllerError::kTopicAlreadyExists:
      CheckInTheWay(attempt, result);
      return attempt.wish == Wish::kExists;
    case ControllerError::kUnknownTopic:
      CheckUnknownTopic(attempt);
      return attempt.wish == Wish::kIsGone;
    case ControllerError::kNotController:
    case ControllerError::kNotEnoughNodes:
    case ControllerError::kThrottled:
      return false;
    default:
      world_.failure.Report("admin", topics_[attempt.topic].name, " is answered with error ",
                            static_cast<int>(result.error), " ", result.message);
      return false;
  }
}

// What is acknowledged is committed, where the answer says.
void Topics::CheckDone(const Attempt& attempt, const ControllerResult& result) {
  const Topic& topic = topics_[attempt.topic];
  const bool creation = attempt.wish == Wish::kExists;
  const TopicId id = creation && result.topic != nullptr ? result.topic->id : result.deleted;
  const auto found = world_.catalog.topics().find(id);
  const bool known = found != world_.catalog.topics().end() && found->second.name == topic.name;
  const bool stands = known && (creation ? found->second.created_at == result.catalog_offset
                                         : found->second.deleted_at == result.catalog_offset);
  if (stands && result.catalog_offset >= attempt.sent_at) return;
  world_.failure.Report("admin", topic.name, creation ? " creation" : " deletion",
                        " is acknowledged as topic ", id.value(), " at ",
                        result.catalog_offset.value(), ", and the catalog does not say so");
}

const controller::Catalog& Topics::CatalogOf(const Attempt& attempt) const {
  return nodes_[static_cast<size_t>(attempt.node.value() - 1)]->controller()->catalog();
}

// A controller that is deposed and does not know it yet refuses by what it has read.
void Topics::CheckInTheWay(const Attempt& attempt, const ControllerResult& result) {
  const Topic& topic = topics_[attempt.topic];
  const controller::Topic* read = CatalogOf(attempt).FindTopic(topic.name);
  const TopicId id = result.topic == nullptr ? TopicId(0) : result.topic->id;
  if (read != nullptr && read->id == id && attempt.wish == Wish::kExists) return;
  world_.failure.Report("admin", topic.name, " is said to exist as topic ", id.value(),
                        " by a controller that does not know it");
}

void Topics::CheckUnknownTopic(const Attempt& attempt) {
  const Topic& topic = topics_[attempt.topic];
  const bool knows = CatalogOf(attempt).FindTopic(topic.name) != nullptr;
  if (!knows && attempt.wish == Wish::kIsGone) return;
  world_.failure.Report("admin", topic.name, " is said not to exist by a controller that knows it");
}

void Topics::OnFulfilled(size_t index) {
  const Duration mean = world_.options.topics.life_mean;
  if (!going_on_ || mean == Duration::zero()) return;
  const bool exists = topics_[index].wish == Wish::kExists;
  const Duration pause = prng_.Between(Duration::zero(), exists ? 2 * mean : mean / 4);
  world_.queue.After(pause, [this, index, exists, wishes = topics_[index].wishes] {
    if (topics_[index].wishes != wishes || !going_on_) return;
    WishFor(index, exists ? Wish::kIsGone : Wish::kExists);
  });
}

void Topics::OnStopped(NodeId node) {
  for (auto& [id, attempt] : attempts_) {
    if (attempt.node != node || attempt.outcome != Outcome::kPending) continue;
    attempt.outcome = Outcome::kUnknown;
    Topic& topic = topics_[attempt.topic];
    if (topic.wish != attempt.wish || topic.fulfilled) continue;
    Try(attempt.topic, topic.wishes, world_.options.raft.election_timeout / 4);
  }
}

void Topics::Finish() {
  struct Count {
    int done = 0;
    int perhaps = 0;
    int committed = 0;
  };
  std::map<std::pair<std::string, Wish>, Count> counts;
  for (const auto& [id, attempt] : attempts_) {
    Count& count = counts[{topics_[attempt.topic].name, attempt.wish}];
    count.done += attempt.outcome == Outcome::kDone ? 1 : 0;
    count.perhaps += attempt.outcome == Outcome::kUnknown ? 1 : 0;
    if (attempt.outcome != Outcome::kPending) continue;
    world_.failure.Report("liveness", topics_[attempt.topic].name, " a call was never answered");
  }
  for (const auto& [id, fact] : world_.catalog.topics()) {
    ++counts[{fact.name, Wish::kExists}].committed;
    if (fact.deleted_at.has_value()) ++counts[{fact.name, Wish::kIsGone}].committed;
  }
  for (const auto& [what, count] : counts) {
    if (count.done <= count.committed && count.committed <= count.done + count.perhaps) continue;
    world_.failure.Report("admin", what.first,
                          what.second == Wish::kExists ? " was created " : " was deleted ",
                          count.committed, " times; acknowledged were ", count.done,
                          ", and without a known outcome ", count.perhaps);
  }
}

}  // namespace quorum::sim

// What scripts may do to a cluster: time, network, clients, crashes, and looking at it.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "service/base/check.h"
#include "tests/interaction/cluster.h"
#include "tests/interaction/describe.h"

namespace quorum::interaction {

bool Cluster::DoNext(MonoTime end) {
  // Timers first, then waits, then time-outs; among equals the lowest node first.
  enum class Kind { kTimer, kWait, kTimeout };
  std::optional<MonoTime> first;
  Kind kind = Kind::kTimer;
  int32_t who = 0;
  uint64_t which = 0;
  const auto consider = [&](MonoTime due, Kind what, int32_t id, uint64_t number) {
    if (due == kNever || (first.has_value() && due >= *first)) return;
    first = due;
    kind = what;
    who = id;
    which = number;
  };
  const auto here = [](MonoTime instant, const Node& node) {
    return instant == kNever ? kNever : instant - node.ahead;
  };
  for (const auto& [id, node] : nodes_) {
    if (node.replica.has_value()) consider(here(node.armed, node), Kind::kTimer, id, 0);
  }
  for (const auto& [id, node] : nodes_) {
    for (const auto& [token, due] : node.parked) consider(here(due, node), Kind::kWait, id, token);
  }
  for (const auto& [id, node] : nodes_) {
    for (const auto& [number, asked] : node.asked) {
      consider(here(asked.deadline, node), Kind::kTimeout, id, number);
    }
  }
  if (!first.has_value() || *first > end) return false;
  now_ = std::max(now_, *first);
  Node& node = nodes_.at(who);
  raft::Event event = raft::TimerFired{};
  std::string headline = "timer at " + Describe(NowOf(node));
  switch (kind) {
    case Kind::kTimer:
      node.armed = kNever;
      break;
    case Kind::kWait:
      node.parked.erase(which);
      event = raft::FetchWaitOver{which};
      headline = "ends a wait at " + Describe(NowOf(node));
      break;
    case Kind::kTimeout:
      headline = KindOf(node.asked.at(which).envelope.body) + " to " +
                 std::to_string(node.asked.at(which).envelope.to) + " times out at " +
                 Describe(NowOf(node));
      event = raft::PeerFailed{node.asked.at(which).envelope.correlation};
      node.asked.erase(which);
      break;
  }
  Step(who, &event, headline);
  return true;
}

void Cluster::Pass(Duration duration, bool deliver) {
  constexpr int kStepsMax = 100'000;
  const MonoTime end = now_ + duration;
  if (deliver) Stabilize();
  for (int steps = 0; DoNext(end); ++steps) {
    CHECK_LT(steps, kStepsMax) << "a timer that is always due";
    if (deliver) Stabilize();
  }
  now_ = end;
}

void Cluster::Tick(Duration duration) { Pass(duration, false); }

void Cluster::Run(Duration duration) { Pass(duration, true); }

void Cluster::Campaign(int32_t id) {
  Node& node = nodes_.at(id);
  const auto campaigns = [&node] {
    const raft::RoleKind role = node.replica->role();
    return role != raft::RoleKind::kUnattached && role != raft::RoleKind::kFollower &&
           role != raft::RoleKind::kResigned;
  };
  while (!campaigns()) {
    CHECK(node.armed != kNever) << "node " << id << " expects nothing";
    node.ahead = std::max(node.ahead, Duration(node.armed - now_));
    const raft::Event event = raft::TimerFired{};
    Step(id, &event, "timer at " + Describe(NowOf(node)));
  }
}

void Cluster::Deliver(const std::set<std::pair<int32_t, int32_t>>& drops) {
  std::deque<Envelope> now = std::move(network_);
  network_.clear();
  for (Envelope& envelope : now) DeliverOne(std::move(envelope), drops);
}

void Cluster::Stabilize() {
  constexpr int kMessagesMax = 100'000;
  for (int messages = 0; !network_.empty(); ++messages) {
    CHECK_LT(messages, kMessagesMax) << "the cluster never comes to rest";
    Envelope envelope = std::move(network_.front());
    network_.pop_front();
    DeliverOne(std::move(envelope), {});
  }
}

void Cluster::Isolate(int32_t id) {
  for (const auto& entry : nodes_) {
    if (entry.first == id) continue;
    Cut(id, entry.first);
    Cut(entry.first, id);
  }
}

void Cluster::Append(int32_t id, int64_t records, std::optional<Epoch> leader_epoch) {
  const raft::Token token = ++last_token_;
  const raft::Event event = raft::AppendRequested{token, records, leader_epoch};
  Step(id, &event, "is given append #" + std::to_string(token));
}

void Cluster::Resign(int32_t id, std::optional<int32_t> preferred) {
  raft::ResignRequested request{nodes_.at(id).replica->election().epoch, std::nullopt};
  if (preferred.has_value()) request.preferred = Key(*preferred);
  const raft::Event event = request;
  Step(id, &event, "is asked to resign");
}

void Cluster::ShutDown(int32_t id) {
  const raft::Event event = raft::ShutdownRequested{};
  Step(id, &event, "shuts down");
}

void Cluster::Hint(int32_t id, int32_t leader, Epoch epoch) {
  const raft::Event event = raft::LeaderHint{Key(leader), epoch};
  Step(id, &event, "is given a hint");
}

void Cluster::Crash(int32_t id, bool lose_unsynced) {
  Node& node = nodes_.at(id);
  CHECK(node.replica.has_value());
  Print(std::to_string(id) + (lose_unsynced ? " crashes with its machine" : " crashes"));
  node.replica.reset();
  node.armed = kNever;
  node.held = false;
  node.gated.clear();
  node.tokens.clear();
  node.parked.clear();
  node.asked.clear();
  if (lose_unsynced) node.written = node.synced;
  for (auto& [other, peer] : nodes_) {
    for (const auto& [number, asked] : peer.asked) {
      if (asked.envelope.to != id) continue;
      Envelope broken = asked.envelope;
      broken.from = id;
      broken.to = other;
      broken.body = Broken{};
      network_.push_back(std::move(broken));
    }
  }
}

void Cluster::Restart(int32_t id) { StartProcess(id); }

std::string Cluster::Status() const {
  std::string text;
  for (const auto& [id, node] : nodes_) {
    text += std::to_string(id) + " " +
            (node.replica.has_value() ? DescribeStatus(*node.replica) : "is down") + "\n";
  }
  return text;
}

std::string Cluster::Log() const {
  std::string text;
  for (const auto& [id, node] : nodes_) {
    text += std::to_string(id) + " " + Describe(node.written.log) + "\n";
  }
  return text;
}

std::string Cluster::Pending() const {
  std::string text;
  for (const Envelope& envelope : network_) {
    text += std::to_string(envelope.from) + " -> " + std::to_string(envelope.to) + " " +
            Describe(envelope.body) + "\n";
  }
  return text.empty() ? "nothing is on its way\n" : text;
}

void Cluster::Check(int32_t id) {
  const Node& node = nodes_.at(id);
  if (node.replica->role() == raft::RoleKind::kLeader) {
    const Epoch epoch = node.replica->election().epoch;
    const int32_t leader = leaders_.emplace(epoch, id).first->second;
    EXPECT_EQ(leader, id) << "two leaders in epoch " << epoch;
  }
  for (const raft::BatchSummary& batch : node.written.log) {
    for (Offset at = batch.base_offset; at <= batch.last_offset; at = at + 1) {
      if (at >= node.replica->exposed()) return;
      const auto index = static_cast<size_t>(at.value());
      if (index == committed_.size()) committed_.push_back(batch.epoch);
      EXPECT_EQ(committed_[index], batch.epoch) << "two records at " << at;
    }
  }
}

void Cluster::Print(const std::string& line) {
  if (!quiet_) output_ += line + "\n";
}

std::string Cluster::TakeOutput() { return std::exchange(output_, ""); }

}  // namespace quorum::interaction

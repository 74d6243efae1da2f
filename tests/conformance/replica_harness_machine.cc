// The machine under the scripts: time, disk, gates and the checks that always run.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "service/base/overloaded.h"
#include "tests/conformance/replica_harness.h"

namespace quorum::conformance {
namespace {

template <typename T>
bool Is(const raft::Effect& effect) {
  return std::holds_alternative<T>(effect);
}

bool IsReply(const raft::Effect& effect) {
  return Is<raft::ReplyVote>(effect) || Is<raft::ReplyBeginQuorumEpoch>(effect) ||
         Is<raft::ReplyEndQuorumEpoch>(effect) || Is<raft::ReplyFetch>(effect);
}

bool IsLogWrite(const raft::Effect& effect) {
  return Is<raft::AppendClientBatch>(effect) || Is<raft::AppendControlBatch>(effect) ||
         Is<raft::AppendFetchedBatches>(effect) || Is<raft::TruncateTo>(effect);
}

}  // namespace

void ReplicaHarness::Run(const raft::Event* event) {
  std::vector<raft::Effect> effects;
  const uint64_t number = ++write_;
  raft::StepContext context{now_, prng_, number, effects};
  if (event == nullptr) {
    replica_->Start(context);
  } else {
    replica_->Step(*event, context);
  }
  for (const raft::Effect& effect : effects) {
    effects_.push_back(effect);
    if (Is<raft::PersistElection>(effect)) election_write_ = number;
    if (IsLogWrite(effect)) log_write_ = number;
    Carry(effect, event);
  }
  for (const raft::Effect& effect : effects) {
    const auto* send = std::get_if<raft::Send>(&effect);
    if (send == nullptr && !IsReply(effect)) continue;
    Outbound outbound;
    outbound.effect = effect;
    outbound.incarnation = send != nullptr ? send->incarnation : replica_->incarnation();
    outbound.waits_for = election_write_;
    if (send != nullptr && send->gate == raft::Gate::kLog) {
      outbound.waits_for = std::max(election_write_, log_write_);
    }
    outbound.at = now_;
    outbox_.push_back(std::move(outbound));
  }
  CheckDisk();
  ObserveLeadership();
  Release();
  if (!hold_writes_) SyncHeld();
}

void ReplicaHarness::Carry(const raft::Effect& effect, const raft::Event* event) {
  std::visit(Overloaded{
                 [&](const raft::PersistElection& e) { WriteElection(e.election); },
                 [&](const raft::AppendClientBatch& e) {
                   EXPECT_EQ(e.base_offset, disk_.end);
                   if (e.starts_epoch) StartEpoch(e.epoch, e.base_offset);
                   disk_.end = disk_.end + std::get<raft::AppendRequested>(*event).record_count;
                 },
                 [&](const raft::AppendControlBatch& e) {
                   EXPECT_EQ(e.base_offset, disk_.end);
                   if (e.starts_epoch) StartEpoch(e.epoch, e.base_offset);
                   if (e.voters.has_value()) disk_.voters.Append(e.voters->first, e.voters->second);
                   disk_.end = disk_.end + static_cast<int64_t>(e.records.size());
                 },
                 [&](const raft::AppendFetchedBatches& e) { AppendFetched(e, *event); },
                 [&](const raft::TruncateTo& e) { TruncateTo(e.end); },
                 [&](const raft::ArmTimer& e) { armed_ = e.deadline; },
                 [](const raft::Send&) {},
                 [](const raft::ReplyVote&) {},
                 [](const raft::ReplyBeginQuorumEpoch&) {},
                 [](const raft::ReplyEndQuorumEpoch&) {},
                 [](const raft::ReplyFetch&) {},
                 [](const raft::ParkFetch&) {},
                 [](const raft::AppendCommitted&) {},
                 [](const raft::AppendRefused&) {},
                 [](const raft::AppendUnknown&) {},
                 [](const raft::CommitAdvanced&) {},
                 [](const raft::LeadershipChanged&) {},
                 [](const raft::WithdrawFromSessions&) {},
                 [](const raft::Quarantined&) {},
                 [](const raft::Trace&) {},
             },
             effect);
}

void ReplicaHarness::WriteElection(const ElectionState& election) {
  EXPECT_GE(election.epoch, disk_.election.epoch) << "I4: a persisted epoch fell";
  disk_.election = election;
  ++election_writes_;
}

void ReplicaHarness::StartEpoch(Epoch epoch, Offset offset) {
  disk_.epoch_starts.emplace_back(epoch, offset);
}

void ReplicaHarness::AppendFetched(const raft::AppendFetchedBatches& effect,
                                   const raft::Event& event) {
  const auto& response = std::get<raft::FetchResponded>(event).response;
  const auto& batches = std::get<raft::FetchedBatches>(response.payload).batches;
  ASSERT_LE(effect.count, batches.size());
  for (size_t i = 0; i < effect.count; ++i) {
    EXPECT_EQ(batches[i].base_offset, disk_.end);
    disk_.end = batches[i].next_offset();
  }
  for (const auto& [epoch, offset] : effect.epoch_starts) StartEpoch(epoch, offset);
  for (const auto& [offset, voters] : effect.voters) disk_.voters.Append(offset, voters);
}

void ReplicaHarness::TruncateTo(Offset end) {
  EXPECT_LT(end, disk_.end);
  disk_.end = end;
  disk_.voters.TruncateTo(end);
  while (!disk_.epoch_starts.empty() && disk_.epoch_starts.back().second >= end) {
    disk_.epoch_starts.pop_back();
  }
}

void ReplicaHarness::CheckDisk() const {
  EXPECT_EQ(disk_.election, replica_->election());
  EXPECT_EQ(disk_.end, replica_->log().end());
  EXPECT_TRUE(disk_.epoch_starts == replica_->log().epochs().starts());
  EXPECT_TRUE(disk_.voters.entries() == replica_->voters().entries());
}

void ReplicaHarness::Release() {
  for (Outbound& outbound : outbox_) {
    if (outbound.left || outbound.dropped || outbound.waits_for > synced_write_) continue;
    outbound.dropped = outbound.incarnation != replica_->incarnation();
    outbound.left = !outbound.dropped;
    if (outbound.left) ObserveVote(outbound.effect);
  }
}

void ReplicaHarness::SyncHeld() {
  if (synced_write_ == std::max(election_write_, log_write_)) return;
  synced_write_ = std::max(election_write_, log_write_);
  synced_ = disk_;
  Release();
  Step(raft::WriteDurable{synced_write_});
}

void ReplicaHarness::CompleteWrites() { SyncHeld(); }

void ReplicaHarness::ReleaseWrites() {
  hold_writes_ = false;
  SyncHeld();
}

void ReplicaHarness::ObserveVote(const raft::Effect& left) {
  if (const auto* send = std::get_if<raft::Send>(&left)) {
    const auto* request = std::get_if<raft::VoteRequest>(&send->message);
    if (request != nullptr && !request->pre_vote) NoteVote(request->epoch, self_);
  }
  const auto* reply = std::get_if<raft::ReplyVote>(&left);
  if (reply == nullptr || !reply->response.granted) return;
  const raft::VoteRequest& request = vote_requests_.at(reply->token);
  EXPECT_EQ(reply->response.header.epoch, request.epoch);
  if (!request.pre_vote) NoteVote(request.epoch, request.candidate);
}

void ReplicaHarness::ObserveLeadership() {
  if (role() != raft::RoleKind::kLeader) return;
  const int life = led_in_life_.emplace(epoch(), life_).first->second;
  EXPECT_EQ(life, life_) << "I3: epoch " << epoch() << " is led in two process lives";
}

void ReplicaHarness::NoteVote(Epoch epoch, const ReplicaKey& candidate) {
  const ReplicaKey& first = votes_.emplace(epoch, candidate).first->second;
  EXPECT_EQ(first, candidate) << "I2: two votes in epoch " << epoch;
}

void ReplicaHarness::Forget() {
  forgotten_effects_ = effects_.size();
  for (Outbound& outbound : outbox_) outbound.forgotten = true;
}

void ReplicaHarness::AdvanceTo(MonoTime instant) {
  CHECK(instant != kNever);
  int fired_at_once = 0;
  while (armed_ <= instant) {
    fired_at_once = armed_ > now_ ? 0 : fired_at_once + 1;
    ASSERT_LT(fired_at_once, 10) << "a timer that is always due: " << role();
    now_ = std::max(now_, armed_);
    Step(raft::TimerFired{});
  }
  now_ = std::max(now_, instant);
}

void ReplicaHarness::Advance(Duration duration) { AdvanceTo(now_ + duration); }

void ReplicaHarness::FireTimer() {
  CHECK(armed_ != kNever) << "no timer is armed";
  now_ = std::max(now_, armed_);
  Step(raft::TimerFired{});
}

void ReplicaHarness::AdvanceUntil(raft::RoleKind wanted, Duration limit) {
  const MonoTime last = now_ + limit;
  while (role() != wanted) {
    ASSERT_LE(armed_, last) << "still " << role();
    FireTimer();
  }
}

}  // namespace quorum::conformance

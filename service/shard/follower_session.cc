#include "service/shard/follower_session.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "service/base/check.h"

namespace quorum::shard {
namespace {

constexpr size_t kRequestsOutMax = 2;

bool IsWithdrawal(const FetchAnswerEntry& answered) {
  return !answered.has_epoch && answered.header.error == raft::RaftError::kNotLeaderOrFollower;
}

}  // namespace

FollowerSession::FollowerSession(uint64_t* next_session_id, uint32_t lane_count, size_t entries_max)
    : next_session_id_(next_session_id), lane_count_(lane_count), entries_max_(entries_max) {}

void FollowerSession::Name(const FetchEntry& position, const raft::Correlation& correlation) {
  Entry entry;
  entry.correlation = correlation;
  entry.position = position;
  entries_.insert_or_assign(position.partition, std::move(entry));
  to_name_.insert(position.partition);
}

void FollowerSession::Withdraw(PartitionId partition) {
  const auto found = entries_.find(partition);
  if (found == entries_.end()) return;
  to_name_.erase(partition);
  entries_.erase(found);
  // Even an entry that was never sent may have replaced one that was. A session that is not open
  // has claimed nothing.
  if (session_id_ != 0) to_withdraw_.insert(partition);
}

bool FollowerSession::HasWork() const {
  if (in_flight_ >= kRequestsOutMax) return false;
  if (!to_name_.empty() || !to_withdraw_.empty()) return true;
  if (in_flight_ > 0) return false;
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry.second.waiting; });
}

std::optional<FetchBatch> FollowerSession::NextRequest() {
  if (!HasWork()) return std::nullopt;
  if (session_id_ == 0) {
    if (to_name_.empty()) return std::nullopt;
    session_id_ = (*next_session_id_)++;
  }
  FetchBatch batch;
  batch.session = SessionRequestPlace{session_id_, ++last_request_, last_answer_, lane_count_};
  while (!to_name_.empty() && batch.entries.size() < entries_max_) {
    Entry& entry = entries_.at(*to_name_.begin());
    entry.named_in = last_request_;
    batch.entries.push_back(entry.position);
    // Its new position takes the old claim back as well.
    to_withdraw_.erase(*to_name_.begin());
    to_name_.erase(to_name_.begin());
  }
  // None of them may wait for a request that has room.
  for (const PartitionId& partition : to_withdraw_) {
    FetchEntry withdrawal;
    withdrawal.partition = partition;
    withdrawal.withdraw = true;
    batch.entries.push_back(withdrawal);
  }
  to_withdraw_.clear();
  ++in_flight_;
  return batch;
}

bool FollowerSession::TakesAnswer(const SessionRequestPlace& place, const LaneResponse& response,
                                  FetchAnswer* answer) const {
  const FetchAnswer* body = std::get_if<FetchAnswer>(&response.body);
  if (body == nullptr || !body->session.has_value()) return false;
  const SessionAnswerPlace& answered = *body->session;
  if (answered.error != SessionError::kNone || answered.session_id != session_id_) return false;
  // What an answer vouches for depends on the request that it claims to answer.
  if (answered.request_number != place.request_number) return false;
  if (answered.answer_number <= last_answer_ || early_answers_.count(answered.answer_number) > 0) {
    return false;
  }
  if (!response.responder.incarnation.has_value()) return false;
  if (leader_incarnation_.has_value() && *leader_incarnation_ != *response.responder.incarnation) {
    return false;
  }
  *answer = *body;
  return true;
}

std::vector<FollowerSession::Delivery> FollowerSession::OnAnswer(
    const SessionRequestPlace& place, const std::optional<LaneResponse>& response, MonoTime now) {
  // An answer of a session that has ended says nothing any more.
  if (place.session_id != session_id_) return {};
  CHECK_GT(in_flight_, 0u);
  --in_flight_;
  FetchAnswer answer;
  if (!response.has_value() || !TakesAnswer(place, *response, &answer)) return End();
  leader_incarnation_ = response->responder.incarnation;
  const uint64_t number = answer.session->answer_number;
  early_answers_.emplace(number, std::move(answer));
  std::vector<Delivery> deliveries;
  while (!early_answers_.empty() && early_answers_.begin()->first == last_answer_ + 1) {
    const FetchAnswer next = std::move(early_answers_.begin()->second);
    early_answers_.erase(early_answers_.begin());
    ++last_answer_;
    Deliver(next, now, &deliveries);
  }
  // With nothing out, a missing answer will never come.
  if (in_flight_ == 0 && !early_answers_.empty()) {
    std::vector<Delivery> failures = End();
    deliveries.insert(deliveries.end(), failures.begin(), failures.end());
  }
  return deliveries;
}

void FollowerSession::Deliver(const FetchAnswer& answer, MonoTime now,
                              std::vector<Delivery>* deliveries) {
  const uint64_t request_number = answer.session->request_number;
  answered_request_ = std::max(answered_request_, request_number);
  answered_at_ = now;
  for (const FetchAnswerEntry& entry : answer.entries) {
    DeliverEntry(entry, request_number, deliveries);
  }
}

void FollowerSession::DeliverEntry(const FetchAnswerEntry& answered, uint64_t request_number,
                                   std::vector<Delivery>* deliveries) {
  const auto found = entries_.find(answered.partition);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (!entry.waiting || entry.named_in == 0 || entry.named_in > request_number) return;
  entry.vouched = false;
  if (IsWithdrawal(answered)) return;
  entry.waiting = false;
  if (answered.has_epoch) {
    deliveries->push_back(Delivery{answered.partition, entry.correlation, answered});
  } else {
    deliveries->push_back(Delivery{answered.partition, entry.correlation, std::nullopt});
  }
}

std::vector<FollowerSession::Delivery> FollowerSession::End() {
  std::vector<Delivery> failures;
  for (const auto& [partition, entry] : entries_) {
    if (!entry.waiting) continue;
    failures.push_back(Delivery{partition, entry.correlation, std::nullopt});
  }
  entries_.clear();
  to_name_.clear();
  to_withdraw_.clear();
  early_answers_.clear();
  session_id_ = 0;
  last_request_ = 0;
  last_answer_ = 0;
  answered_request_ = 0;
  in_flight_ = 0;
  leader_incarnation_.reset();
  return failures;
}

std::optional<MonoTime> FollowerSession::LastSeen(PartitionId partition,
                                                  uint64_t incarnation) const {
  const auto found = entries_.find(partition);
  if (found == entries_.end()) return std::nullopt;
  const Entry& entry = found->second;
  if (!entry.waiting || !entry.vouched || entry.correlation.incarnation != incarnation) {
    return std::nullopt;
  }
  if (entry.named_in == 0 || entry.named_in > answered_request_) return std::nullopt;
  return answered_at_;
}

}  // namespace quorum::shard

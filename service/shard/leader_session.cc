#include "service/shard/leader_session.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "service/base/check.h"

namespace quorum::shard {
namespace {

// Takes a claim back without saying anything of the replica's new state, which may not be synced
// yet.
FetchAnswerEntry Claimless(PartitionId partition, raft::RaftError error) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header.error = error;
  entry.has_epoch = false;
  return entry;
}

FetchAnswer EndingAnswer(uint64_t session_id, uint64_t request_number, SessionError error) {
  FetchAnswer answer;
  answer.session = SessionAnswerPlace{session_id, 0, request_number, error};
  return answer;
}

}  // namespace

LeaderSession::LeaderSession(PeerIdentity follower, uint64_t session_id)
    : follower_(follower), session_id_(session_id) {}

LeaderSession::Admission LeaderSession::Admit(const SessionRequestPlace& place) const {
  if (place.newest_answer_seen > last_answer_) return Admission::kRefuse;
  if (place.request_number == executed_request_ + 1) return Admission::kExecute;
  const bool early_by_one = place.request_number == executed_request_ + 2;
  return early_by_one && !held_.has_value() ? Admission::kHold : Admission::kRefuse;
}

void LeaderSession::Hold(FetchBatch batch, PeerReply reply) {
  CHECK(!held_.has_value());
  held_.emplace(std::move(batch), std::move(reply));
}

std::optional<std::pair<FetchBatch, PeerReply>> LeaderSession::TakeHeld() {
  if (!held_.has_value()) return std::nullopt;
  if (held_->first.session->request_number != executed_request_ + 1) return std::nullopt;
  return std::exchange(held_, std::nullopt);
}

std::optional<LeaderSession::Released> LeaderSession::Execute(const FetchBatch& batch,
                                                              PeerReply reply, MonoTime now,
                                                              MonoTime deadline,
                                                              const ReadCache& read_cache) {
  CHECK_EQ(batch.session->request_number, executed_request_ + 1);
  std::optional<Released> released;
  if (parked_.has_value()) released = AnswerParked(GatherReady(read_cache));
  executed_request_ = batch.session->request_number;
  executed_at_ = now;
  newest_answer_seen_ = std::max(newest_answer_seen_, batch.session->newest_answer_seen);
  parked_ = Parked{executed_request_, batch.max_bytes, deadline, std::move(reply)};
  return released;
}

std::optional<raft::Token> LeaderSession::Await(PartitionId partition, Epoch epoch,
                                                raft::Token token) {
  std::optional<raft::Token> before = Remove(partition);
  entries_.insert_or_assign(partition, Entry{epoch, token, true, false});
  return before;
}

std::optional<raft::Token> LeaderSession::Remove(PartitionId partition) {
  ready_.erase(partition);
  from_disk_.erase(partition);
  const auto found = entries_.find(partition);
  if (found == entries_.end()) return std::nullopt;
  const Entry entry = found->second;
  entries_.erase(found);
  if (!entry.waiting) return std::nullopt;
  return entry.token;
}

bool LeaderSession::Awaits(PartitionId partition, raft::Token token) const {
  const auto found = entries_.find(partition);
  return found != entries_.end() && found->second.waiting && found->second.token == token;
}

void LeaderSession::Answer(PartitionId partition, raft::Token token, Ready ready) {
  if (!Awaits(partition, token)) return;
  Entry& entry = entries_.at(partition);
  entry.waiting = false;
  // An error ends what the session says of the partition; the follower names it again when it
  // likes.
  if (ready.entry.header.error != raft::RaftError::kNone) entry.withdrawn = true;
  ready_.insert_or_assign(partition, std::move(ready));
}

void LeaderSession::Withdraw(PartitionId partition) {
  const auto found = entries_.find(partition);
  if (found == entries_.end() || found->second.withdrawn) return;
  Entry& entry = found->second;
  entry.withdrawn = true;
  const auto ready = ready_.find(partition);
  if (ready != ready_.end()) {
    // What was ready belongs to the past; nothing else will follow it.
    ready->second = Ready{Claimless(partition, raft::RaftError::kBrokerNotAvailable), std::nullopt};
    return;
  }
  if (!entry.waiting) return;
  ready_.insert_or_assign(
      partition, Ready{Claimless(partition, raft::RaftError::kNotLeaderOrFollower), std::nullopt});
}

std::optional<LeaderSession::Released> LeaderSession::Flush(MonoTime now,
                                                            const ReadCache& read_cache) {
  if (!parked_.has_value()) return std::nullopt;
  std::vector<FetchAnswerEntry> entries = GatherReady(read_cache);
  if (entries.empty() && now < parked_->deadline && !hurried_) return std::nullopt;
  return AnswerParked(std::move(entries));
}

LeaderSession::Released LeaderSession::AnswerParked(std::vector<FetchAnswerEntry> entries) {
  Released released;
  released.reply = std::move(parked_->reply);
  released.answer.entries = std::move(entries);
  released.answer.session =
      SessionAnswerPlace{session_id_, ++last_answer_, parked_->request_number, SessionError::kNone};
  parked_.reset();
  hurried_ = false;
  return released;
}

std::vector<FetchAnswerEntry> LeaderSession::GatherReady(const ReadCache& read_cache) {
  Gathering gathering;
  gathering.bytes_left = parked_->max_bytes;
  // Once round, from where the last answer was full.
  std::vector<PartitionId> order;
  order.reserve(ready_.size());
  const auto middle = ready_.lower_bound(gather_from_);
  for (auto it = middle; it != ready_.end(); ++it) order.push_back(it->first);
  for (auto it = ready_.begin(); it != middle; ++it) order.push_back(it->first);
  bool full = false;
  for (const PartitionId& partition : order) {
    if (Gather(partition, &ready_.at(partition), read_cache, &gathering)) {
      ready_.erase(partition);
    } else if (!std::exchange(full, true)) {
      gather_from_ = partition;
    }
  }
  return std::move(gathering.entries);
}

bool LeaderSession::Gather(PartitionId partition, Ready* ready, const ReadCache& read_cache,
                           Gathering* gathering) {
  std::vector<RecordBatch>& batches = ready->entry.batches;
  if (ready->range.has_value()) {
    if (gathering->has_records && gathering->bytes_left == 0) return false;
    auto cached = read_cache(partition, *ready->range, gathering->bytes_left);
    if (!cached.has_value()) return ReadLater(partition, *ready);
    batches = *std::move(cached);
  }
  size_t bytes = 0;
  for (const RecordBatch& batch : batches) bytes += batch.size();
  const bool fits = bytes <= gathering->bytes_left || ready->range.has_value();
  if (!fits && gathering->has_records) return false;
  gathering->bytes_left -= std::min(gathering->bytes_left, bytes);
  gathering->has_records = gathering->has_records || !batches.empty();
  gathering->entries.push_back(std::move(ready->entry));
  // A withdrawal does not end a read.
  if (!entries_.at(partition).waiting) from_disk_.erase(partition);
  return true;
}

bool LeaderSession::ReadLater(PartitionId partition, const Ready& ready) {
  if (from_disk_.size() >= kDiskReadsMax) return false;
  from_disk_.insert(partition);
  Entry& entry = entries_.at(partition);
  entry.waiting = true;
  uncached_.push_back(Uncached{partition, entry.token, ready, parked_->max_bytes});
  return true;
}

std::vector<LeaderSession::Uncached> LeaderSession::TakeUncached() {
  return std::exchange(uncached_, {});
}

const LeaderSession::Entry* LeaderSession::FindClaim(PartitionId partition, Epoch epoch) const {
  const auto found = entries_.find(partition);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  return entry.withdrawn || entry.epoch != epoch ? nullptr : &entry;
}

std::optional<MonoTime> LeaderSession::LastSeen(PartitionId partition, Epoch epoch) const {
  if (FindClaim(partition, epoch) == nullptr) return std::nullopt;
  return executed_at_;
}

bool LeaderSession::HasFollowedSince(PartitionId partition, Epoch epoch, uint64_t answer) const {
  return FindClaim(partition, epoch) != nullptr && newest_answer_seen_ > answer;
}

LeaderSession::Ending LeaderSession::End(SessionError error) {
  Ending ending;
  if (parked_.has_value()) {
    ending.answers.push_back(Released{std::move(parked_->reply),
                                      EndingAnswer(session_id_, parked_->request_number, error)});
    parked_.reset();
  }
  if (held_.has_value()) {
    ending.answers.push_back(
        Released{std::move(held_->second),
                 EndingAnswer(session_id_, held_->first.session->request_number, error)});
    held_.reset();
  }
  for (const auto& [partition, entry] : entries_) {
    if (entry.waiting) ending.cancelled.emplace_back(partition, entry.token);
  }
  entries_.clear();
  ready_.clear();
  uncached_.clear();
  from_disk_.clear();
  return ending;
}

}  // namespace quorum::shard

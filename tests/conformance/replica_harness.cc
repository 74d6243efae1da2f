#include "tests/conformance/replica_harness.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace quorum::conformance {

ReplicaKey Key(int32_t id) {
  return ReplicaKey{NodeId(id), DirectoryId{0xd1, static_cast<uint64_t>(id)}};
}

ReplicaKey OtherDirectory(int32_t id) {
  return ReplicaKey{NodeId(id), DirectoryId{0xd2, static_cast<uint64_t>(id)}};
}

VoterSet VoterSetOf(int count) {
  std::vector<Voter> voters;
  for (int id = 1; id <= count; ++id) voters.push_back(Voter{Key(id), ""});
  return VoterSet(voters);
}

OffsetAndEpoch End(int64_t offset, int64_t epoch) {
  return OffsetAndEpoch{Offset(offset), Epoch(epoch)};
}

Duration Ms(int64_t milliseconds) { return std::chrono::milliseconds(milliseconds); }

raft::FetchedBatches BatchesFrom(int64_t base,
                                 std::initializer_list<std::pair<int64_t, int64_t>> batches) {
  raft::FetchedBatches fetched;
  for (const auto& [epoch, count] : batches) {
    fetched.batches.push_back(
        raft::BatchSummary{Offset(base), Offset(base + count - 1), Epoch(epoch), std::nullopt});
    base += count;
  }
  return fetched;
}

bool FetchResult::HasRecords() const {
  return reply.has_value() && std::holds_alternative<raft::ServeRecords>(reply->payload);
}

std::optional<OffsetAndEpoch> FetchResult::Divergence() const {
  if (!reply.has_value()) return std::nullopt;
  const auto* diverging = std::get_if<raft::FetchedDivergence>(&reply->payload);
  if (diverging == nullptr) return std::nullopt;
  return diverging->point;
}

ReplicaHarness::ReplicaHarness(uint64_t seed, ReplicaKey self) : self_(self), prng_(seed) {
  BugsAreFatal().store(true);
}

void ReplicaHarness::Voters(int count) { Voters(VoterSetOf(count)); }

void ReplicaHarness::Voters(const VoterSet& set) {
  disk_.voters = VoterSetHistory(set);
  if (disk_.end > Offset(0)) disk_.voters.Append(Offset(0), set);
}

void ReplicaHarness::Recover(Epoch epoch, std::optional<ReplicaKey> leader,
                             std::optional<ReplicaKey> voted) {
  disk_.election = ElectionState{epoch, leader, voted};
}

void ReplicaHarness::RecoverLog(std::initializer_list<std::pair<int64_t, int64_t>> epochs) {
  for (const auto& [epoch, count] : epochs) {
    disk_.epoch_starts.emplace_back(Epoch(epoch), disk_.end);
    disk_.end = disk_.end + count;
  }
  if (disk_.voters.initial().has_value() && !disk_.voters.LatestOffset().has_value()) {
    disk_.voters.Append(Offset(0), *disk_.voters.initial());
  }
}

void ReplicaHarness::RecoverHighWatermarkBound(int64_t offset) {
  high_watermark_bound_ = Offset(offset);
}

void ReplicaHarness::Start() {
  CHECK(!replica_.has_value());
  synced_ = disk_;
  StartNewLife();
}

void ReplicaHarness::StartIfNew() {
  if (!replica_.has_value()) Start();
}

void ReplicaHarness::Restart() {
  CHECK(replica_.has_value());
  disk_ = synced_;
  synced_write_ = write_;
  for (Outbound& outbound : outbox_) outbound.dropped = outbound.dropped || !outbound.left;
  armed_ = kNever;
  StartNewLife();
}

void ReplicaHarness::StartNewLife() {
  ++life_;
  raft::RecoveredState recovered;
  recovered.election = disk_.election;
  recovered.log_end = disk_.end;
  recovered.leader_epochs = disk_.epoch_starts;
  recovered.voters = disk_.voters;
  recovered.high_watermark_bound = std::min(high_watermark_bound_, disk_.end);
  if (life_ == 1) recovered.first_campaign_after = first_campaign_after_;
  replica_.emplace(self_, config_, std::move(recovered));
  Run(nullptr);
}

void ReplicaHarness::Step(const raft::Event& event) {
  CHECK(replica_.has_value()) << "Start comes first";
  Run(&event);
}

raft::VoteResponse ReplicaHarness::RequestVote(const raft::VoteRequest& request) {
  vote_requests_.emplace(last_token_ + 1, request);
  return Ask<raft::ReplyVote>(request).response;
}

raft::VoteResponse ReplicaHarness::RequestVote(int32_t from, Epoch epoch, OffsetAndEpoch log_end,
                                               bool pre_vote) {
  return RequestVote(raft::VoteRequest{Key(from), self_, epoch, log_end, pre_vote});
}

raft::VoteResponse ReplicaHarness::RequestPreVote(int32_t from, Epoch epoch,
                                                  OffsetAndEpoch log_end) {
  return RequestVote(from, epoch, log_end, true);
}

raft::BeginQuorumEpochResponse ReplicaHarness::Begin(const raft::BeginQuorumEpochRequest& request) {
  return Ask<raft::ReplyBeginQuorumEpoch>(request).response;
}

raft::BeginQuorumEpochResponse ReplicaHarness::Begin(int32_t leader, Epoch epoch) {
  return Begin(raft::BeginQuorumEpochRequest{Key(leader), self_, epoch});
}

raft::EndQuorumEpochResponse ReplicaHarness::End(int32_t leader, Epoch epoch,
                                                 std::vector<ReplicaKey> successors) {
  const raft::EndQuorumEpochRequest request{Key(leader), epoch, std::move(successors)};
  return Ask<raft::ReplyEndQuorumEpoch>(request).response;
}

raft::FetchRequest ReplicaHarness::MakeFetch(int32_t from, int64_t offset,
                                             int64_t last_epoch) const {
  raft::FetchRequest request;
  request.replica = Key(from);
  request.replica_incarnation = Incarnation(1);
  request.current_leader_epoch = epoch();
  request.fetch_offset = Offset(offset);
  request.last_fetched_epoch = Epoch(last_epoch);
  return request;
}

FetchResult ReplicaHarness::Fetch(int32_t from, int64_t offset, int64_t last_epoch,
                                  std::optional<int64_t> known_high_watermark) {
  raft::FetchRequest request = MakeFetch(from, offset, last_epoch);
  if (known_high_watermark.has_value()) {
    request.known_high_watermark = raft::KnownHighWatermark::kKnown;
    request.high_watermark = Offset(*known_high_watermark);
  }
  return Fetch(request);
}

FetchResult ReplicaHarness::Fetch(const raft::FetchRequest& request) {
  const raft::Token token = ++last_token_;
  Step(raft::FetchRequested{token, request});
  return ResultOf(token);
}

FetchResult ReplicaHarness::ResultOf(raft::Token fetch) const {
  FetchResult result;
  result.token = fetch;
  if (const auto* reply = FindReply<raft::ReplyFetch>(fetch)) {
    result.reply = *reply;
    return result;
  }
  result.parked = FindReply<raft::ParkFetch>(fetch) != nullptr;
  return result;
}

bool ReplicaHarness::LastReplyHasLeft() const {
  for (auto outbound = outbox_.rbegin(); outbound != outbox_.rend(); ++outbound) {
    if (!std::holds_alternative<raft::Send>(outbound->effect)) return outbound->left;
  }
  return false;
}

raft::Token ReplicaHarness::Append(int64_t records, std::optional<Epoch> leader_epoch) {
  const raft::Token token = ++last_token_;
  Step(raft::AppendRequested{token, records, leader_epoch});
  return token;
}

AppendOutcome ReplicaHarness::OutcomeOf(raft::Token append) const {
  if (FindReply<raft::AppendCommitted>(append) != nullptr) return AppendOutcome::kCommitted;
  if (FindReply<raft::AppendRefused>(append) != nullptr) return AppendOutcome::kRefused;
  if (FindReply<raft::AppendUnknown>(append) != nullptr) return AppendOutcome::kUnknown;
  return AppendOutcome::kPending;
}

void ReplicaHarness::AnswerVote(int32_t from, raft::ResponseHeader header, bool granted) {
  const raft::Correlation to = Newest<raft::VoteRequest>(Key(from)).correlation;
  Step(raft::VoteResponded{to, raft::VoteResponse{header, granted}});
}

void ReplicaHarness::Grant(int32_t from) { AnswerVote(from, HeaderNow(), true); }

void ReplicaHarness::Refuse(int32_t from) { AnswerVote(from, HeaderNow(), false); }

void ReplicaHarness::GrantAll() { AnswerAllVotes(true); }

void ReplicaHarness::RefuseAll() { AnswerAllVotes(false); }

void ReplicaHarness::AnswerAllVotes(bool granted) {
  const uint64_t incarnation = replica_->incarnation();
  for (const Voter& voter : replica_->voters().Latest()) {
    if (voter.key == self_ || replica_->incarnation() != incarnation) continue;
    const auto newest = Newest<raft::VoteRequest>(voter.key);
    if (newest.correlation.incarnation != incarnation) continue;
    const raft::ResponseHeader header{raft::RaftError::kNone, newest.message.epoch, std::nullopt};
    Step(raft::VoteResponded{newest.correlation, raft::VoteResponse{header, granted}});
  }
}

void ReplicaHarness::AnswerBegin(int32_t from, raft::ResponseHeader header) {
  const raft::Correlation to = Newest<raft::BeginQuorumEpochRequest>(Key(from)).correlation;
  Step(raft::BeginQuorumEpochResponded{to, raft::BeginQuorumEpochResponse{header}});
}

void ReplicaHarness::AnswerEnd(int32_t from, raft::ResponseHeader header) {
  const raft::Correlation to = Newest<raft::EndQuorumEpochRequest>(Key(from)).correlation;
  Step(raft::EndQuorumEpochResponded{to, raft::EndQuorumEpochResponse{header}});
}

void ReplicaHarness::AnswerFetch(const raft::FetchResponse& response) {
  std::vector<SentMessage<raft::FetchRequest>> sent;
  for (const Outbound& outbound : outbox_) {
    if (outbound.left) AppendIf<raft::FetchRequest>(outbound, sent);
  }
  CHECK(!sent.empty()) << "no Fetch has left";
  Step(raft::FetchResponded{sent.back().correlation, response});
}

void ReplicaHarness::AnswerFetch(
    std::variant<raft::FetchedNothing, raft::FetchedBatches, raft::FetchedDivergence> payload,
    std::optional<int64_t> high_watermark) {
  raft::FetchResponse response;
  response.header = HeaderNow();
  if (high_watermark.has_value()) response.high_watermark = Offset(*high_watermark);
  response.payload = std::move(payload);
  AnswerFetch(response);
}

raft::ResponseHeader ReplicaHarness::HeaderNow(raft::RaftError error) const {
  return raft::ResponseHeader{error, epoch(), leader()};
}

void ReplicaHarness::BecomeProspective() {
  StartIfNew();
  AdvanceUntil(raft::RoleKind::kProspective);
}

void ReplicaHarness::BecomeCandidate() {
  BecomeProspective();
  GrantAll();
  CHECK(role() == raft::RoleKind::kCandidate) << role();
}

void ReplicaHarness::BecomeLeader(Epoch epoch_to_win) {
  if (!replica_.has_value() && disk_.election == ElectionState{}) {
    Recover(Epoch(epoch_to_win.value() - 1));
  }
  StartIfNew();
  if (role() != raft::RoleKind::kLeader) {
    BecomeCandidate();
    GrantAll();
  }
  CHECK(role() == raft::RoleKind::kLeader) << role();
  CHECK_EQ(epoch(), epoch_to_win);
}

void ReplicaHarness::Follow(int32_t leader, Epoch epoch) {
  StartIfNew();
  CHECK(Begin(leader, epoch).header.error == raft::RaftError::kNone);
  CHECK(role() == raft::RoleKind::kFollower) << role();
}

void ReplicaHarness::FollowAndFetch(int32_t leader, Epoch epoch) {
  Follow(leader, epoch);
  AnswerFetch();
}

}  // namespace quorum::conformance

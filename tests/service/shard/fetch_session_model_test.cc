// A FollowerSession and a LeaderSession over a net that loses, delays and reorders, checked against
// the truth that neither of them sees:
//   1. a delivery answers exactly the name that stands, and each name is answered once at most;
//   2. an answer vouches for a leader only where it led that epoch when the answer was sent;
//   3. a request vouches for a follower only where it stood by that epoch when the request was
//   sent;
//   4. it proves that the follower stood by an epoch after an answer was sent only where it was
//   sent after that answer;
//   5. once the net is well, every name is answered.
// Each name carries a number as its fetch offset, which the leader returns as the log start.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "service/base/prng.h"
#include "service/shard/follower_session.h"
#include "service/shard/leader_session.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

constexpr uint64_t kPartitions = 6;
constexpr size_t kEntriesMax = 3;

struct FollowerReplica {
  uint64_t stint = 1;
  Epoch epoch{1};
  // The name that stands; 0 for none.
  uint64_t name = 0;
  bool waiting = false;
};

struct LeaderReplica {
  bool leads = true;
  Epoch epoch{1};
};

// Which epoch each partition's replica stood for at a moment.
using Truth = std::map<PartitionId, Epoch>;

class Model {
 public:
  explicit Model(uint64_t seed) : prng_(seed) {
    for (uint64_t topic = 1; topic <= kPartitions; ++topic) {
      followers_[Id(topic)] = FollowerReplica{};
      leaders_[Id(topic)] = LeaderReplica{};
    }
  }

  void Run() {
    for (int step = 0; step < 1500 && !testing::Test::HasFatalFailure(); ++step) Step();
    faulty_ = false;
    for (auto& [id, leader] : leaders_) Settle(id, &leader);
    for (int step = 0; step < 1000 && !testing::Test::HasFatalFailure(); ++step) StepWell();
    for (const auto& [id, answered] : answered_when_well_) {
      EXPECT_GE(answered, 10) << id << " was not served";
    }
    EXPECT_EQ(answered_when_well_.size(), kPartitions);
  }

  uint64_t deliveries() const { return deliveries_; }
  uint64_t vouched() const { return vouched_; }
  uint64_t renewed() const { return renewed_; }
  uint64_t proven() const { return proven_; }

 private:
  struct Request {
    FetchBatch batch;
    std::optional<Incarnation> to;
    Truth truth;
    uint64_t sent_at = 0;
  };
  struct Response {
    SessionRequestPlace place;
    std::optional<LaneResponse> response;
  };
  struct Pending {
    PartitionId partition;
    uint64_t name = 0;
    raft::RaftError error = raft::RaftError::kNone;
  };

  // The answers of a session that have arrived: all up to `newest`, and some later ones.
  struct Arrivals {
    uint64_t newest = 0;
    std::set<uint64_t> early;
  };

  PartitionId Any() { return Id(prng_.Below(kPartitions) + 1); }

  // --- the follower's node

  void NameOne(PartitionId id) {
    FollowerReplica& replica = followers_[id];
    if (replica.waiting) return;
    replica.name = ++last_name_;
    replica.waiting = true;
    FetchEntry entry;
    entry.partition = id;
    entry.current_leader_epoch = replica.epoch;
    entry.fetch_offset = Offset(static_cast<int64_t>(replica.name));
    follower_.Name(entry, raft::Correlation{Key(1), replica.stint, replica.name});
  }

  void ChangeFollower(PartitionId id) {
    FollowerReplica& replica = followers_[id];
    ++replica.stint;
    replica.waiting = false;
    replica.name = 0;
    if (prng_.Chance(700'000)) replica.epoch = std::max(replica.epoch, leaders_[id].epoch);
    if (prng_.Chance(100'000)) replica.epoch = Next(replica.epoch);
    follower_.Withdraw(id);
  }

  void SendRequests() {
    while (auto batch = follower_.NextRequest()) {
      Request request{*std::move(batch), follower_.leader_incarnation(), {}, ++moment_};
      request.batch.max_bytes = 1;
      session_of_follower_ = request.batch.session->session_id;
      for (const auto& [id, replica] : followers_) {
        if (replica.name != 0) request.truth[id] = replica.epoch;
      }
      out_.insert({request.batch.session->session_id, request.batch.session->request_number});
      requests_.push_back(std::move(request));
    }
  }

  void TakeResponse(Response response) {
    // Exactly one completion for each request, whatever arrives.
    if (out_.erase({response.place.session_id, response.place.request_number}) == 0) return;
    now_ += Ms(1);
    if (response.response.has_value()) NoteArrival(*response.response);
    for (const auto& delivery : follower_.OnAnswer(response.place, response.response, now_)) {
      FollowerReplica& replica = followers_[delivery.partition];
      ASSERT_TRUE(replica.waiting) << delivery.partition;
      ASSERT_EQ(delivery.correlation.number, replica.name);
      ASSERT_EQ(delivery.correlation.incarnation, replica.stint);
      replica.waiting = false;
      ++deliveries_;
      if (!delivery.answer.has_value()) continue;
      ASSERT_EQ(delivery.answer->log_start, Offset(static_cast<int64_t>(replica.name)))
          << "the answer to another name";
      if (!faulty_) ++answered_when_well_[delivery.partition];
    }
    CheckVouching();
  }

  void NoteArrival(const LaneResponse& response) {
    const auto& answered = std::get<FetchAnswer>(response.body).session;
    Arrivals& arrivals = arrivals_[answered->session_id];
    arrivals.early.insert(answered->answer_number);
    while (arrivals.early.erase(arrivals.newest + 1) > 0) ++arrivals.newest;
  }

  // What the newest answer in order stands for.
  const Truth* NewestTruth(uint64_t session) const {
    const auto arrived = arrivals_.find(session);
    if (arrived == arrivals_.end()) return nullptr;
    const auto sent = answer_truth_.find({session, arrived->second.newest});
    return sent == answer_truth_.end() ? nullptr : &sent->second;
  }

  void CheckVouching() {
    for (const auto& [id, replica] : followers_) {
      const auto seen = follower_.LastSeen(id, replica.stint);
      if (!seen.has_value()) continue;
      ASSERT_TRUE(replica.waiting) << id;
      const Truth* truth = NewestTruth(session_of_follower_);
      ASSERT_NE(truth, nullptr);
      ASSERT_EQ(truth->count(id), 1u) << id << " was led by nobody when the answer was sent";
      ASSERT_EQ(truth->at(id), replica.epoch) << id << " was led in another epoch";
      ++vouched_;
    }
  }

  // --- the leader's node

  void ReplyTo(const SessionRequestPlace& place, FetchAnswer answer) {
    LaneResponse response{PeerIdentity{Key(1), leader_life_}, std::move(answer)};
    const auto& session = std::get<FetchAnswer>(response.body).session;
    Truth truth;
    for (const auto& [id, leader] : leaders_) {
      if (leader.leads) truth[id] = leader.epoch;
    }
    if (session->answer_number > 0) {
      answer_truth_[{session->session_id, session->answer_number}] = std::move(truth);
      answer_sent_at_[{session->session_id, session->answer_number}] = ++moment_;
    }
    responses_.push_back(Response{place, std::move(response)});
  }

  void SendReleased(LeaderSession::Released released) {
    const auto& place = *released.answer.session;
    ReplyTo(SessionRequestPlace{place.session_id, place.request_number, 0, 1},
            std::move(released.answer));
  }

  void Refuse(const SessionRequestPlace& place, SessionError error) {
    FetchAnswer answer;
    answer.session = SessionAnswerPlace{place.session_id, 0, place.request_number, error};
    ReplyTo(place, std::move(answer));
  }

  void EndLeaderSession(SessionError error) {
    if (!session_.has_value()) return;
    LeaderSession::Ending ending = session_->End(error);
    for (const auto& [id, token] : ending.cancelled) pending_.erase(token);
    for (LeaderSession::Released& answer : ending.answers) SendReleased(std::move(answer));
    session_.reset();
  }

  void OnRequest(Request request) {
    const SessionRequestPlace place = *request.batch.session;
    if (request.to.value_or(leader_life_) != leader_life_) {
      return Refuse(place, SessionError::kInvalidRequest);
    }
    if (place.request_number == 1) {
      if (place.session_id <= newest_session_) {
        return Refuse(place, SessionError::kSessionIdNotFound);
      }
      EndLeaderSession(SessionError::kSessionIdNotFound);
      newest_session_ = place.session_id;
      session_.emplace(PeerIdentity{Key(2), Incarnation(1)}, place.session_id);
    }
    if (!session_.has_value() || session_->session_id() != place.session_id) {
      return Refuse(place, SessionError::kSessionIdNotFound);
    }
    switch (session_->Admit(place)) {
      case LeaderSession::Admission::kHold:
        held_truth_ = request.truth;
        held_sent_at_ = request.sent_at;
        session_->Hold(std::move(request.batch), [](LaneResponse) {});
        return;
      case LeaderSession::Admission::kRefuse:
        EndLeaderSession(SessionError::kInvalidSessionEpoch);
        return Refuse(place, SessionError::kInvalidSessionEpoch);
      case LeaderSession::Admission::kExecute:
        break;
    }
    Execute(request.batch, request.truth, request.sent_at);
    if (auto held = session_->TakeHeld()) Execute(held->first, held_truth_, held_sent_at_);
  }

  void Execute(const FetchBatch& batch, const Truth& truth, uint64_t sent_at) {
    now_ += Ms(1);
    auto released = session_->Execute(
        batch, [](LaneResponse) {}, now_, now_ + Ms(50), reader_);
    if (released.has_value()) SendReleased(*std::move(released));
    for (const FetchEntry& entry : batch.entries) {
      if (entry.withdraw) {
        if (const auto token = session_->Remove(entry.partition)) pending_.erase(*token);
        continue;
      }
      const raft::Token token = ++last_token_;
      if (const auto replaced =
              session_->Await(entry.partition, entry.current_leader_epoch, token)) {
        pending_.erase(*replaced);
      }
      Pending pending{entry.partition, static_cast<uint64_t>(entry.fetch_offset.value()),
                      raft::RaftError::kNone};
      const LeaderReplica& leader = leaders_[entry.partition];
      const bool serves = leader.leads && leader.epoch == entry.current_leader_epoch;
      if (!serves) pending.error = raft::RaftError::kFencedLeaderEpoch;
      pending_[token] = pending;
      // As the shard does for a refusal that waits for its gate.
      if (!serves && prng_.Chance(500'000)) Complete(token);
      if (!serves) session_->Withdraw(entry.partition);
    }
    for (const auto& [id, leader] : leaders_) {
      for (int64_t epoch = 1; epoch <= leader.epoch.value() + 2; ++epoch) {
        const auto seen = session_->LastSeen(id, Epoch(epoch));
        if (!seen.has_value()) continue;
        ASSERT_EQ(*seen, now_);
        ASSERT_EQ(truth.count(id), 1u) << id << " was not said by the request";
        ASSERT_EQ(truth.at(id), Epoch(epoch)) << id << " stood by another epoch";
        ++renewed_;
        CheckProofs(id, Epoch(epoch), sent_at);
      }
    }
  }

  // The request that was executed last, at `sent_at`, stood by that epoch.
  void CheckProofs(PartitionId id, Epoch epoch, uint64_t sent_at) {
    // The strongest proof implies the others.
    for (uint64_t answer = session_->last_answer(); answer-- > 0;) {
      if (!session_->HasFollowedSince(id, epoch, answer)) continue;
      ASSERT_GT(sent_at, answer_sent_at_.at({session_->session_id(), answer + 1}));
      ++proven_;
      return;
    }
  }

  // The replica's answer passes its gate.
  void Complete(raft::Token token) {
    const Pending pending = pending_.at(token);
    pending_.erase(token);
    if (!session_.has_value()) return;
    LeaderSession::Ready ready;
    ready.entry.partition = pending.partition;
    ready.entry.header.error = pending.error;
    ready.entry.log_start = Offset(static_cast<int64_t>(pending.name));
    if (pending.error == raft::RaftError::kNone && prng_.Chance(300'000)) {
      ready.range = raft::ServeRecords{Offset(0), Offset(1)};
    }
    session_->Answer(pending.partition, token, std::move(ready));
  }

  void CompleteSome() {
    std::vector<raft::Token> tokens;
    for (const auto& [token, pending] : pending_) tokens.push_back(token);
    for (const raft::Token token : tokens) {
      if (prng_.Chance(300'000)) Complete(token);
    }
    std::vector<LeaderSession::Uncached> reads = std::exchange(reads_, {});
    for (LeaderSession::Uncached& read : reads) {
      if (prng_.Chance(300'000)) {
        read.ready.range.reset();
        read.ready.entry.batches = {BatchAt(read.partition, 0)};
        // A role that has moved on meanwhile offers nothing.
        const LeaderReplica& leader = leaders_[read.partition];
        if (!leader.leads) read.ready.entry.header.error = raft::RaftError::kBrokerNotAvailable;
        if (session_.has_value()) {
          session_->Answer(read.partition, read.token, std::move(read.ready));
        }
      } else {
        reads_.push_back(std::move(read));
      }
    }
  }

  void FlushLeader() {
    if (!session_.has_value()) return;
    auto released = session_->Flush(now_, reader_);
    for (LeaderSession::Uncached& read : session_->TakeUncached())
      reads_.push_back(std::move(read));
    if (released.has_value()) SendReleased(*std::move(released));
  }

  void ChangeLeader(PartitionId id) {
    LeaderReplica& leader = leaders_[id];
    leader.leads = prng_.Chance(500'000);
    leader.epoch = Next(leader.epoch);
    Moved(id);
  }

  // What a change of role does at this end of the session.
  void Moved(PartitionId id) {
    if (session_.has_value()) session_->Withdraw(id);
    for (auto& [token, pending] : pending_) {
      if (pending.partition == id) pending.error = raft::RaftError::kNotLeaderOrFollower;
    }
  }

  void RestartLeader() {
    leader_life_ = Incarnation(leader_life_.value() + 1);
    session_.reset();
    pending_.clear();
    reads_.clear();
    newest_session_ = 0;
  }

  // --- the net

  template <typename Message>
  std::optional<Message> TakeAny(std::vector<Message>* messages) {
    if (messages->empty()) return std::nullopt;
    // Mostly in order.
    const size_t index = prng_.Chance(800'000) ? 0 : prng_.Below(messages->size());
    Message taken = std::move((*messages)[index]);
    messages->erase(messages->begin() + static_cast<int64_t>(index));
    return taken;
  }

  void CarryRequest() {
    auto request = TakeAny(&requests_);
    if (!request.has_value()) return;
    const SessionRequestPlace place = *request->batch.session;
    if (faulty_ && prng_.Chance(20'000)) {
      responses_.push_back(Response{place, std::nullopt});
      return;
    }
    // Given up by the follower while it is still on its way.
    if (faulty_ && prng_.Chance(10'000)) {
      TakeResponse(Response{place, std::nullopt});
      requests_.push_back(*std::move(request));
      return;
    }
    OnRequest(*std::move(request));
  }

  void CarryResponse() {
    auto response = TakeAny(&responses_);
    if (!response.has_value()) return;
    if (faulty_ && prng_.Chance(20'000)) response->response.reset();
    TakeResponse(*std::move(response));
  }

  void TimeOut() {
    if (out_.empty()) return;
    TakeResponse(Response{SessionRequestPlace{out_.begin()->first, out_.begin()->second, 0, 1},
                          std::nullopt});
  }

  void Step() {
    const uint64_t choice = prng_.Below(1000);
    if (choice < 250) NameOne(Any());
    if (choice >= 250 && choice < 280) ChangeFollower(Any());
    if (choice >= 280 && choice < 300) ChangeLeader(Any());
    if (choice >= 300 && choice < 303) RestartLeader();
    if (choice >= 303 && choice < 306) TimeOut();
    if (choice >= 310 && choice < 550) CarryRequest();
    if (choice >= 550 && choice < 800) CarryResponse();
    if (choice >= 800 && choice < 900) CompleteSome();
    now_ += Ms(1);
    if (prng_.Chance(500'000)) FlushLeader();
    if (prng_.Chance(500'000)) SendRequests();
  }

  void Settle(PartitionId id, LeaderReplica* leader) {
    leader->leads = true;
    leader->epoch = Epoch(std::max(leader->epoch.value(), followers_[id].epoch.value()) + 1);
    Moved(id);
    ChangeFollower(id);
    followers_[id].epoch = leader->epoch;
    while (!out_.empty()) TimeOut();
  }

  void StepWell() {
    for (const auto& [id, replica] : followers_) NameOne(id);
    SendRequests();
    CarryRequest();
    CompleteSome();
    now_ += Ms(1);
    FlushLeader();
    CarryResponse();
  }

  Prng prng_;
  bool faulty_ = true;
  MonoTime now_ = At(0);
  uint64_t next_session_id_ = 1;
  uint64_t last_name_ = 0;
  uint64_t session_of_follower_ = 0;
  FollowerSession follower_{&next_session_id_, 1, kEntriesMax};
  std::map<PartitionId, FollowerReplica> followers_;
  std::map<PartitionId, LeaderReplica> leaders_;
  std::set<std::pair<uint64_t, uint64_t>> out_;
  std::vector<Request> requests_;
  std::vector<Response> responses_;
  std::map<uint64_t, Arrivals> arrivals_;
  std::map<std::pair<uint64_t, uint64_t>, Truth> answer_truth_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> answer_sent_at_;

  Incarnation leader_life_{1};
  uint64_t newest_session_ = 0;
  std::optional<LeaderSession> session_;
  Truth held_truth_;
  uint64_t held_sent_at_ = 0;
  uint64_t moment_ = 0;
  raft::Token last_token_ = 0;
  std::map<raft::Token, Pending> pending_;
  std::vector<LeaderSession::Uncached> reads_;
  LeaderSession::ReadCache reader_ = [this](PartitionId id, const raft::ServeRecords&,
                                            size_t) -> std::optional<std::vector<RecordBatch>> {
    if (prng_.Chance(500'000)) return std::nullopt;
    return std::vector<RecordBatch>{BatchAt(id, 0)};
  };

  uint64_t deliveries_ = 0;
  uint64_t vouched_ = 0;
  uint64_t renewed_ = 0;
  uint64_t proven_ = 0;
  std::map<PartitionId, int> answered_when_well_;
};

TEST(FetchSessionModelTest, NeitherEndClaimsWhatIsNotTrue) {
  uint64_t deliveries = 0;
  uint64_t vouched = 0;
  uint64_t renewed = 0;
  uint64_t proven = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Model model(seed);
    model.Run();
    if (testing::Test::HasFailure()) return;
    deliveries += model.deliveries();
    vouched += model.vouched();
    renewed += model.renewed();
    proven += model.proven();
  }
  // The checks have something to check.
  EXPECT_GT(deliveries, 100'000u);
  EXPECT_GT(vouched, 100'000u);
  EXPECT_GT(renewed, 100'000u);
  EXPECT_GT(proven, 100'000u);
}

}  // namespace
}  // namespace quorum::shard

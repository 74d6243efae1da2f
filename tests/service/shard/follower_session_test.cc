#include "service/shard/follower_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr uint64_t kStint = 7;
const PartitionId kA = Id(1);
const PartitionId kB = Id(2);
const PartitionId kC = Id(3);

// What the leader says of one partition.
FetchAnswerEntry Nothing(PartitionId partition) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header.epoch = Epoch(1);
  return entry;
}

FetchAnswerEntry Marker(PartitionId partition) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header.error = raft::RaftError::kNotLeaderOrFollower;
  entry.has_epoch = false;
  return entry;
}

FetchAnswerEntry Failure(PartitionId partition) {
  FetchAnswerEntry entry = Marker(partition);
  entry.header.error = raft::RaftError::kUnknownTopicOrPartition;
  return entry;
}

LaneResponse AnswerTo(const FetchBatch& request, uint64_t number,
                      std::vector<FetchAnswerEntry> entries, uint64_t leader_life = 5) {
  FetchAnswer answer;
  answer.session = SessionAnswerPlace{request.session->session_id, number,
                                      request.session->request_number, SessionError::kNone};
  answer.entries = std::move(entries);
  return LaneResponse{PeerIdentity{Key(2), Incarnation(leader_life)}, std::move(answer)};
}

class FollowerSessionTest : public ::testing::Test {
 protected:
  void Name(PartitionId partition, uint64_t number, uint64_t stint = kStint) {
    FetchEntry entry;
    entry.partition = partition;
    entry.current_leader_epoch = Epoch(1);
    entry.fetch_offset = Offset(static_cast<int64_t>(number));
    session_.Name(entry, raft::Correlation{Key(2), stint, number});
  }

  // The next request, which must be due, as text: "1: A@4, -B".
  FetchBatch Next() {
    std::optional<FetchBatch> batch = session_.NextRequest();
    EXPECT_TRUE(batch.has_value());
    return batch.value_or(FetchBatch{SessionRequestPlace{}, false, {}, 0, {}});
  }
  static std::vector<std::string> Says(const FetchBatch& batch) {
    std::vector<std::string> said;
    for (const FetchEntry& entry : batch.entries) {
      const uint64_t topic = entry.partition.topic.value();
      said.push_back(entry.withdraw ? absl::StrCat("-", topic)
                                    : absl::StrCat(topic, "@", entry.fetch_offset.value()));
    }
    return said;
  }

  // Deliveries as text: "1@4" is the answer to the Fetch number 4 of topic 1, "1@4!" its failure.
  std::vector<std::string> Answer(const FetchBatch& request,
                                  const std::optional<LaneResponse>& response,
                                  MonoTime now = At(0)) {
    std::vector<std::string> seen;
    for (const FollowerSession::Delivery& delivery :
         session_.OnAnswer(*request.session, response, now)) {
      EXPECT_EQ(delivery.correlation.peer, Key(2));
      seen.push_back(absl::StrCat(delivery.partition.topic.value(), "@",
                                  delivery.correlation.number,
                                  delivery.answer.has_value() ? "" : "!"));
    }
    return seen;
  }

  uint64_t next_session_id_ = 1;
  FollowerSession session_{&next_session_id_, 16, 100};
};

TEST_F(FollowerSessionTest, SaysNothingWhileNothingIsNamed) {
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  session_.Withdraw(kA);
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  EXPECT_TRUE(session_.idle());
  EXPECT_FALSE(session_.open());
  EXPECT_EQ(next_session_id_, 1u) << "no session was opened";
}

TEST_F(FollowerSessionTest, NamesEverythingFirstAndThenWhatHasMoved) {
  Name(kA, 1);
  Name(kB, 2);
  const FetchBatch first = Next();
  EXPECT_THAT(Says(first), ElementsAre("1@1", "2@2"));
  EXPECT_EQ(first.session->session_id, 1u);
  EXPECT_EQ(first.session->request_number, 1u);
  EXPECT_EQ(first.session->newest_answer_seen, 0u);
  EXPECT_EQ(first.session->lane_count, 16u);
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), ElementsAre("1@1"));
  Name(kA, 3);
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), ElementsAre("1@3"));
  EXPECT_EQ(second.session->session_id, 1u);
  EXPECT_EQ(second.session->request_number, 2u);
  EXPECT_EQ(second.session->newest_answer_seen, 1u);
}

TEST_F(FollowerSessionTest, AsksAgainAsLongAsSomebodyWaits) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_EQ(session_.NextRequest(), std::nullopt) << "one is parked there";
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {})), IsEmpty());
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), IsEmpty()) << "what has not moved is not named";
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kA)})), ElementsAre("1@1"));
  EXPECT_EQ(session_.NextRequest(), std::nullopt) << "nobody waits";
}

TEST_F(FollowerSessionTest, HasTwoRequestsOutAtMost) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kB, 2);
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), ElementsAre("2@2"));
  Name(kC, 3);
  session_.Withdraw(kA);
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {})), IsEmpty());
  EXPECT_THAT(Says(Next()), ElementsAre("3@3", "-1"));
}

TEST_F(FollowerSessionTest, ALaterRequestTakesOverTheEntriesOfAParkedOne) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kB, 2);
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {})), IsEmpty());
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kA), Nothing(kB)})),
              ElementsAre("1@1", "2@2"));
}

TEST_F(FollowerSessionTest, AnAnswerFromBeforeANameIsNotItsAnswer) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kA, 2, kStint + 1);
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), IsEmpty())
      << "replaced, though not yet sent";
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), ElementsAre("1@2"));
  Name(kB, 3);
  const FetchBatch third = Next();
  Name(kA, 4);
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kA)})), IsEmpty());
  const FetchBatch fourth = Next();
  EXPECT_THAT(Answer(third, AnswerTo(third, 3, {Nothing(kA)})), IsEmpty());
  EXPECT_THAT(Answer(fourth, AnswerTo(fourth, 4, {Nothing(kA)})), ElementsAre("1@4"));
}

TEST_F(FollowerSessionTest, EachNameGetsOneDelivery) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA), Nothing(kA), Failure(kA)})),
              ElementsAre("1@1"));
  Name(kB, 2);
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kA), Nothing(kC)})), IsEmpty());
  EXPECT_THAT(Answer(Next(), std::nullopt), ElementsAre("2@2!")) << "nor a failure afterwards";
}

TEST_F(FollowerSessionTest, AnswersAreTakenInTheOrderInWhichTheyWereSent) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kB, 2);
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kB)})), IsEmpty());
  EXPECT_EQ(session_.LastSeen(kB, kStint), std::nullopt);
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), ElementsAre("1@1", "2@2"));
}

TEST_F(FollowerSessionTest, AGapInTheAnswersEndsTheSessionOnceNothingIsOut) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 2, {Nothing(kA)})), ElementsAre("1@1!"));
  EXPECT_FALSE(session_.open());
  Name(kA, 2);
  const FetchBatch second = Next();
  EXPECT_EQ(second.session->session_id, 2u);
  EXPECT_EQ(second.session->request_number, 1u);
  EXPECT_EQ(second.session->newest_answer_seen, 0u);
}

TEST_F(FollowerSessionTest, ARepeatedAnswerNumberEndsTheSession) {
  Name(kA, 1);
  Name(kB, 2);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), ElementsAre("1@1"));
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 1, {Nothing(kB)})), ElementsAre("2@2!"));
  EXPECT_FALSE(session_.open());
}

TEST_F(FollowerSessionTest, TwoAnswersOfOneNumberEndTheSession) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kB, 2);
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {})), IsEmpty());
  EXPECT_THAT(Answer(first, AnswerTo(first, 2, {})), ElementsAre("1@1!", "2@2!"));
}

TEST_F(FollowerSessionTest, AFailureEndsTheSessionForEverybodyWhoWaits) {
  Name(kA, 1);
  const FetchBatch first = Next();
  Name(kB, 2);
  const FetchBatch second = Next();
  Name(kC, 3);
  EXPECT_THAT(Answer(first, std::nullopt), ElementsAre("1@1!", "2@2!", "3@3!"));
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  EXPECT_TRUE(session_.idle());
  Name(kB, 4);
  const FetchBatch third = Next();
  EXPECT_EQ(third.session->session_id, 2u);
  EXPECT_THAT(Answer(second, AnswerTo(second, 1, {Nothing(kB)})), IsEmpty())
      << "of the session that has ended";
  EXPECT_THAT(Answer(third, AnswerTo(third, 1, {Nothing(kB)})), ElementsAre("2@4"));
}

TEST_F(FollowerSessionTest, EveryAnswerThatIsNotOfThisSessionEndsIt) {
  const auto mutate = [](auto change) {
    return [change](const FetchBatch& request) {
      LaneResponse response = AnswerTo(request, 1, {Nothing(kA)});
      change(response, std::get<FetchAnswer>(response.body));
      return response;
    };
  };
  const std::vector<std::function<LaneResponse(const FetchBatch&)>> wrong = {
      mutate(
          [](LaneResponse&, FetchAnswer& a) { a.session->error = SessionError::kInvalidRequest; }),
      mutate([](LaneResponse&, FetchAnswer& a) { ++a.session->session_id; }),
      mutate([](LaneResponse&, FetchAnswer& a) { ++a.session->request_number; }),
      mutate([](LaneResponse&, FetchAnswer& a) { a.session->answer_number = 0; }),
      mutate([](LaneResponse&, FetchAnswer& a) { a.session.reset(); }),
      mutate([](LaneResponse& r, FetchAnswer&) { r.responder.incarnation.reset(); }),
      mutate([](LaneResponse& r, FetchAnswer&) { r.body = HeaderAnswer{}; }),
      mutate([](LaneResponse& r, FetchAnswer&) { r.body = RefusedRequest{}; }),
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    Name(kA, i + 1);
    const FetchBatch request = Next();
    EXPECT_THAT(Answer(request, wrong[i](request)), ElementsAre(absl::StrCat("1@", i + 1, "!")));
    EXPECT_FALSE(session_.open()) << i;
  }
}

TEST_F(FollowerSessionTest, AnotherLifeOfTheLeaderEndsTheSession) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_EQ(session_.leader_incarnation(), std::nullopt);
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {}, 5)), IsEmpty());
  EXPECT_EQ(session_.leader_incarnation(), Incarnation(5));
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Nothing(kA)}, 6)), ElementsAre("1@1!"));
  EXPECT_EQ(session_.leader_incarnation(), std::nullopt) << "the next session may learn it anew";
}

TEST_F(FollowerSessionTest, WhatWasNeverSaidNeedsNoWithdrawal) {
  Name(kA, 1);
  session_.Withdraw(kA);
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  EXPECT_TRUE(session_.idle());
}

TEST_F(FollowerSessionTest, AWithdrawalIsNamedAtOnceAndItsAnswerIsNotDelivered) {
  Name(kA, 1);
  Name(kB, 2);
  const FetchBatch first = Next();
  session_.Withdraw(kA);
  EXPECT_FALSE(session_.idle());
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), ElementsAre("-1"));
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), IsEmpty());
  EXPECT_EQ(session_.LastSeen(kA, kStint), std::nullopt);
  EXPECT_THAT(Answer(second, std::nullopt), ElementsAre("2@2!"));
}

TEST_F(FollowerSessionTest, AWithdrawalIsSentEvenIfNothingElseIsSaid) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Nothing(kA)})), ElementsAre("1@1"));
  EXPECT_EQ(session_.NextRequest(), std::nullopt);
  session_.Withdraw(kA);
  const FetchBatch second = Next();
  EXPECT_THAT(Says(second), ElementsAre("-1"));
  EXPECT_FALSE(session_.idle());
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {})), IsEmpty());
  EXPECT_TRUE(session_.idle());
}

TEST_F(FollowerSessionTest, WhatReplacedASaidEntryUnsentIsWithdrawnAllTheSame) {
  Name(kA, 1);
  (void)Next();
  Name(kA, 2);
  session_.Withdraw(kA);
  EXPECT_THAT(Says(Next()), ElementsAre("-1"));
}

TEST_F(FollowerSessionTest, NamingAnewIsAWithdrawalToo) {
  Name(kA, 1);
  (void)Next();
  session_.Withdraw(kA);
  Name(kA, 2, kStint + 1);
  EXPECT_THAT(Says(Next()), ElementsAre("1@2")) << "named twice it would be refused";
}

TEST_F(FollowerSessionTest, AFullRequestLeavesNoOldClaimStanding) {
  FollowerSession small(&next_session_id_, 16, 1);
  const auto name = [&small](PartitionId partition, int64_t number) {
    FetchEntry entry;
    entry.partition = partition;
    entry.fetch_offset = Offset(number);
    small.Name(entry, raft::Correlation{Key(2), kStint, static_cast<uint64_t>(number)});
  };
  for (const PartitionId& id : {kA, kB, kC}) name(id, 1);
  uint64_t answers = 0;
  for (const char* said : {"1@1", "2@1", "3@1"}) {
    const FetchBatch batch = *small.NextRequest();
    EXPECT_THAT(Says(batch), ElementsAre(said));
    (void)small.OnAnswer(*batch.session, AnswerTo(batch, ++answers, {}), At(0));
  }
  // All of them change their epoch in one round; one has room.
  for (const PartitionId& id : {kA, kB, kC}) small.Withdraw(id);
  for (const PartitionId& id : {kA, kB}) name(id, 2);
  const FetchBatch changed = *small.NextRequest();
  EXPECT_THAT(Says(changed), ElementsAre("1@2", "-2", "-3"));
  EXPECT_THAT(Says(*small.NextRequest()), ElementsAre("2@2"));
}

TEST_F(FollowerSessionTest, ALeaderThatWithdrawsIsNotSeenAndStillOwesTheAnswer) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {}), At(1)), IsEmpty());
  EXPECT_EQ(session_.LastSeen(kA, kStint), At(1));
  const FetchBatch second = Next();
  EXPECT_THAT(Answer(second, AnswerTo(second, 2, {Marker(kA)}), At(2)), IsEmpty());
  EXPECT_EQ(session_.LastSeen(kA, kStint), std::nullopt);
  const FetchBatch third = Next();
  EXPECT_THAT(Says(third), IsEmpty()) << "it goes on waiting";
  EXPECT_THAT(Answer(third, AnswerTo(third, 3, {}), At(3)), IsEmpty());
  EXPECT_EQ(session_.LastSeen(kA, kStint), std::nullopt);
  const FetchBatch fourth = Next();
  EXPECT_THAT(Answer(fourth, AnswerTo(fourth, 4, {Nothing(kA)}), At(4)), ElementsAre("1@1"));
}

TEST_F(FollowerSessionTest, AnErrorWithoutAnEpochIsAFailureOfThatEntryOnly) {
  Name(kA, 1);
  Name(kB, 2);
  const FetchBatch first = Next();
  EXPECT_THAT(Answer(first, AnswerTo(first, 1, {Failure(kA), Nothing(kB)})),
              ElementsAre("1@1!", "2@2"));
  EXPECT_TRUE(session_.open());
}

TEST_F(FollowerSessionTest, AnAnswerVouchesOnlyForWhoWasNamedBefore) {
  Name(kA, 1);
  const FetchBatch first = Next();
  EXPECT_EQ(session_.LastSeen(kA, kStint), std::nullopt);
  Name(kB, 2);
  const FetchBatch second = Next();
  Name(kC, 3);
  (void)Answer(first, AnswerTo(first, 1, {}), At(10));
  EXPECT_EQ(session_.LastSeen(kA, kStint), At(10));
  EXPECT_EQ(session_.LastSeen(kB, kStint), std::nullopt) << "named in a later request";
  EXPECT_EQ(session_.LastSeen(kC, kStint), std::nullopt) << "not sent at all";
  (void)Answer(second, AnswerTo(second, 2, {}), At(20));
  EXPECT_EQ(session_.LastSeen(kA, kStint), At(20));
  EXPECT_EQ(session_.LastSeen(kB, kStint), At(20));
  EXPECT_EQ(session_.LastSeen(kA, kStint + 1), std::nullopt) << "of another role";
  EXPECT_EQ(session_.LastSeen(Id(9), kStint), std::nullopt);
}

TEST_F(FollowerSessionTest, NobodyIsVouchedForWhoDoesNotWait) {
  Name(kA, 1);
  Name(kB, 2);
  const FetchBatch first = Next();
  (void)Answer(first, AnswerTo(first, 1, {Nothing(kA)}), At(10));
  EXPECT_EQ(session_.LastSeen(kA, kStint), std::nullopt) << "its answer says more";
  EXPECT_EQ(session_.LastSeen(kB, kStint), At(10));
  Name(kB, 3);
  EXPECT_EQ(session_.LastSeen(kB, kStint), std::nullopt) << "named anew";
  (void)Answer(Next(), std::nullopt, At(20));
  EXPECT_EQ(session_.LastSeen(kB, kStint), std::nullopt) << "the session has ended";
}

TEST_F(FollowerSessionTest, SessionsOfOneShardNeverShareAnId) {
  FollowerSession other(&next_session_id_, 16, 100);
  Name(kA, 1);
  other.Name(FetchEntry{}, raft::Correlation{Key(3), kStint, 1});
  const FetchBatch first = Next();
  EXPECT_EQ(other.NextRequest()->session->session_id, 2u);
  (void)Answer(first, std::nullopt);
  Name(kA, 2);
  EXPECT_EQ(Next().session->session_id, 3u);
}

}  // namespace
}  // namespace quorum::shard

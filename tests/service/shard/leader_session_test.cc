#include "service/shard/leader_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {
namespace {

using Admission = LeaderSession::Admission;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const PartitionId kA = Id(1);
const PartitionId kB = Id(2);
const PartitionId kC = Id(3);
const size_t kBatchSize = BatchAt(kA, 0).size();
constexpr uint64_t kSession = 4;

// Answers as text: "1" nothing new, "1+2" two batches, "1?" a withdrawal, "1!" an error.
std::vector<std::string> Says(const FetchAnswer& answer) {
  std::vector<std::string> said;
  for (const FetchAnswerEntry& entry : answer.entries) {
    std::string text = absl::StrCat(entry.partition.topic.value());
    if (!entry.batches.empty()) absl::StrAppend(&text, "+", entry.batches.size());
    const raft::RaftError error = entry.header.error;
    const bool withdrawal = !entry.has_epoch && error == raft::RaftError::kNotLeaderOrFollower;
    if (error != raft::RaftError::kNone) absl::StrAppend(&text, withdrawal ? "?" : "!");
    said.push_back(std::move(text));
  }
  return said;
}

class LeaderSessionTest : public ::testing::Test {
 protected:
  static FetchBatch RequestNo(uint64_t number, size_t max_bytes = 1 << 20, uint64_t seen = 0) {
    FetchBatch batch;
    batch.session = SessionRequestPlace{kSession, number, seen, 16};
    batch.max_bytes = max_bytes;
    return batch;
  }

  Admission Admit(uint64_t number, uint64_t seen = 0) const {
    return session_.Admit(SessionRequestPlace{kSession, number, seen, 16});
  }
  // A request that names an answer.
  void ExecuteSeen(uint64_t number, uint64_t seen) {
    (void)session_.Execute(
        RequestNo(number, 1 << 20, seen), [](LaneResponse) {}, At(0), At(500), reader_);
  }
  std::optional<LeaderSession::Released> Execute(uint64_t number, MonoTime now = At(0),
                                                 size_t max_bytes = 1 << 20) {
    return session_.Execute(
        RequestNo(number, max_bytes), [](LaneResponse) {}, now, now + Ms(500), reader_);
  }
  std::optional<FetchAnswer> Flush(MonoTime now = At(0)) {
    auto released = session_.Flush(now, reader_);
    if (!released.has_value()) return std::nullopt;
    return std::move(released->answer);
  }

  static LeaderSession::Ready Nothing(PartitionId partition) {
    LeaderSession::Ready ready;
    ready.entry.partition = partition;
    ready.entry.header.epoch = Epoch(1);
    return ready;
  }
  static LeaderSession::Ready Error(PartitionId partition) {
    LeaderSession::Ready ready = Nothing(partition);
    ready.entry.header.error = raft::RaftError::kFencedLeaderEpoch;
    return ready;
  }
  static LeaderSession::Ready Records(PartitionId partition, int64_t from = 0, int64_t end = 1) {
    LeaderSession::Ready ready = Nothing(partition);
    ready.range = raft::ServeRecords{Offset(from), Offset(end)};
    return ready;
  }
  void Serve(PartitionId partition, raft::Token token, LeaderSession::Ready ready) {
    (void)session_.Await(partition, Epoch(1), token);
    session_.Answer(partition, token, std::move(ready));
  }

  // One batch per offset, for every partition that is cached.
  std::map<PartitionId, bool> cached_{{kA, true}, {kB, true}, {kC, true}};
  LeaderSession::ReadCache reader_ =
      [this](PartitionId partition, const raft::ServeRecords& range,
             size_t max_bytes) -> std::optional<std::vector<RecordBatch>> {
    const auto found = cached_.find(partition);
    if (found == cached_.end() || !found->second) return std::nullopt;
    std::vector<RecordBatch> batches;
    for (Offset at = range.from; at < range.end; at = at + 1) {
      if (!batches.empty() && (batches.size() + 1) * kBatchSize > max_bytes) break;
      batches.push_back(BatchAt(partition, at.value()));
    }
    return batches;
  };
  LeaderSession session_{PeerIdentity{Key(2), Incarnation(3)}, kSession};
};

TEST_F(LeaderSessionTest, RequestsAreExecutedInTheOrderOfTheirNumbers) {
  EXPECT_EQ(Admit(1), Admission::kExecute);
  EXPECT_EQ(Admit(2), Admission::kHold) << "the net may reorder two";
  EXPECT_EQ(Admit(3), Admission::kRefuse);
  EXPECT_EQ(Admit(0), Admission::kRefuse);
  (void)Execute(1);
  EXPECT_EQ(Admit(1), Admission::kRefuse) << "a repeat";
  EXPECT_EQ(Admit(2), Admission::kExecute);
  EXPECT_EQ(Admit(4), Admission::kRefuse);
}

TEST_F(LeaderSessionTest, AnEarlyRequestIsHeldUntilItIsTheNext) {
  session_.Hold(RequestNo(2), [](LaneResponse) {});
  EXPECT_EQ(Admit(2), Admission::kRefuse) << "a second one";
  EXPECT_EQ(session_.TakeHeld(), std::nullopt);
  (void)Execute(1);
  auto held = session_.TakeHeld();
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(held->first.session->request_number, 2u);
  EXPECT_EQ(session_.TakeHeld(), std::nullopt);
}

TEST_F(LeaderSessionTest, AnAnswerWaitsForSomethingToSayOrForItsDeadline) {
  EXPECT_EQ(session_.deadline(), kNever);
  EXPECT_EQ(Flush(), std::nullopt) << "nobody asks";
  (void)Execute(1);
  (void)session_.Await(kA, Epoch(1), 11);
  (void)session_.Await(kB, Epoch(1), 12);
  EXPECT_EQ(session_.deadline(), At(500));
  EXPECT_EQ(Flush(At(499)), std::nullopt);
  session_.Answer(kA, 11, Nothing(kA));
  const auto answer = Flush(At(499));
  ASSERT_TRUE(answer.has_value());
  EXPECT_THAT(Says(*answer), ElementsAre("1"));
  EXPECT_EQ(answer->session->session_id, kSession);
  EXPECT_EQ(answer->session->answer_number, 1u);
  EXPECT_EQ(answer->session->request_number, 1u);
  EXPECT_EQ(session_.deadline(), kNever);
  EXPECT_TRUE(session_.Awaits(kB, 12)) << "still waiting, not failed";
  (void)Execute(2, At(600));
  const auto empty = Flush(At(1100));
  ASSERT_TRUE(empty.has_value());
  EXPECT_THAT(Says(*empty), IsEmpty());
  EXPECT_EQ(empty->session->answer_number, 2u);
}

TEST_F(LeaderSessionTest, ALaterRequestReleasesTheParkedOneAndTakesOverItsEntries) {
  (void)Execute(1);
  (void)session_.Await(kA, Epoch(1), 11);
  const auto released = Execute(2);
  ASSERT_TRUE(released.has_value());
  EXPECT_THAT(Says(released->answer), IsEmpty());
  EXPECT_EQ(released->answer.session->request_number, 1u);
  EXPECT_EQ(released->answer.session->answer_number, 1u);
  session_.Answer(kA, 11, Nothing(kA));
  const auto answer = Flush();
  EXPECT_THAT(Says(*answer), ElementsAre("1"));
  EXPECT_EQ(answer->session->request_number, 2u);
  EXPECT_EQ(answer->session->answer_number, 2u);
}

TEST_F(LeaderSessionTest, WhatIsReadyLeavesWithTheReleasedRequest) {
  (void)Execute(1);
  Serve(kA, 11, Records(kA));
  const auto released = Execute(2);
  EXPECT_THAT(Says(released->answer), ElementsAre("1+1"));
  EXPECT_EQ(Flush(), std::nullopt);
}

TEST_F(LeaderSessionTest, AnswersToAnEarlierNameAreIgnored) {
  (void)Execute(1);
  EXPECT_EQ(session_.Await(kA, Epoch(1), 11), std::nullopt);
  EXPECT_EQ(session_.Await(kA, Epoch(1), 12), raft::Token{11}) << "to be cancelled";
  session_.Answer(kA, 11, Nothing(kA));
  EXPECT_EQ(Flush(), std::nullopt);
  session_.Answer(kA, 12, Nothing(kA));
  EXPECT_EQ(session_.Await(kA, Epoch(1), 13), std::nullopt) << "12 has its answer";
  EXPECT_EQ(Flush(), std::nullopt) << "which was for a position that is no longer the follower's";
}

TEST_F(LeaderSessionTest, ARemovedEntryIsForgottenWithItsAnswer) {
  (void)Execute(1);
  EXPECT_EQ(session_.Remove(kA), std::nullopt);
  (void)session_.Await(kA, Epoch(1), 11);
  EXPECT_EQ(session_.Remove(kA), raft::Token{11});
  session_.Answer(kA, 11, Nothing(kA));
  Serve(kB, 12, Nothing(kB));
  EXPECT_EQ(session_.Remove(kB), std::nullopt);
  EXPECT_EQ(Flush(), std::nullopt);
  EXPECT_EQ(session_.entry_count(), 0u);
}

TEST_F(LeaderSessionTest, EachExecutedRequestRenewsTheEntriesOfItsEpoch) {
  (void)Execute(1, At(10));
  (void)session_.Await(kA, Epoch(1), 11);
  Serve(kB, 12, Records(kB));
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), At(10));
  EXPECT_EQ(session_.LastSeen(kA, Epoch(2)), std::nullopt) << "it follows another epoch";
  EXPECT_EQ(session_.LastSeen(kC, Epoch(1)), std::nullopt) << "never named";
  (void)Execute(2, At(20));
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), At(20));
  EXPECT_EQ(session_.LastSeen(kB, Epoch(1)), At(20)) << "answered, and still this follower's";
  (void)session_.Remove(kA);
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
  session_.Hold(RequestNo(4), [](LaneResponse) {});
  EXPECT_EQ(session_.LastSeen(kB, Epoch(1)), At(20)) << "a held request says nothing yet";
}

// Two requests may be under way when an answer leaves; only what names the answer was sent after
// it.
TEST_F(LeaderSessionTest, ARequestProvesWhatItsFollowerFollowsAfterTheAnswerThatItNames) {
  (void)session_.Await(kA, Epoch(1), 11);
  Serve(kB, 12, Records(kB));
  ExecuteSeen(1, 0);
  ASSERT_TRUE(Flush().has_value());
  EXPECT_EQ(session_.last_answer(), 1u);
  EXPECT_FALSE(session_.HasFollowedSince(kA, Epoch(1), 0)) << "it has seen nothing yet";
  ExecuteSeen(2, 0);
  EXPECT_FALSE(session_.HasFollowedSince(kA, Epoch(1), 0)) << "sent before the answer came";
  ExecuteSeen(3, 1);
  EXPECT_EQ(session_.last_answer(), 2u) << "the second request is released";
  EXPECT_TRUE(session_.HasFollowedSince(kA, Epoch(1), 0));
  EXPECT_TRUE(session_.HasFollowedSince(kB, Epoch(1), 0)) << "answered, and still this follower's";
  EXPECT_FALSE(session_.HasFollowedSince(kA, Epoch(1), 1))
      << "the first answer is no proof of that";
  EXPECT_FALSE(session_.HasFollowedSince(kA, Epoch(2), 0)) << "it follows another epoch";
  EXPECT_FALSE(session_.HasFollowedSince(kC, Epoch(1), 0)) << "never named";
  ExecuteSeen(4, 0);
  EXPECT_TRUE(session_.HasFollowedSince(kA, Epoch(1), 0)) << "what is proven stays so";
  session_.Withdraw(kA);
  (void)session_.Remove(kB);
  EXPECT_FALSE(session_.HasFollowedSince(kA, Epoch(1), 0));
  EXPECT_FALSE(session_.HasFollowedSince(kB, Epoch(1), 0));
}

TEST_F(LeaderSessionTest, AnAnswerThatWasNotSentCannotHaveBeenSeen) {
  EXPECT_EQ(Admit(1, 1), Admission::kRefuse);
  (void)Execute(1);
  EXPECT_EQ(Admit(2, 1), Admission::kRefuse);
  EXPECT_EQ(Flush(At(500))->session->answer_number, 1u);
  EXPECT_EQ(Admit(2, 1), Admission::kExecute);
  EXPECT_EQ(Admit(3, 1), Admission::kHold);
  EXPECT_EQ(Admit(2, 2), Admission::kRefuse);
}

TEST_F(LeaderSessionTest, WhoIsInAHurryIsAnsweredWithNothingOnce) {
  (void)Execute(1);
  (void)session_.Await(kA, Epoch(1), 11);
  EXPECT_EQ(Flush(), std::nullopt);
  session_.Hurry();
  EXPECT_THAT(Says(*Flush()), IsEmpty());
  (void)Execute(2);
  EXPECT_EQ(Flush(), std::nullopt);
  (void)Flush(At(500));
  session_.Hurry();
  EXPECT_EQ(Flush(), std::nullopt) << "no request is out";
  (void)Execute(3);
  EXPECT_THAT(Says(*Flush()), IsEmpty());
}

TEST_F(LeaderSessionTest, AnErrorEndsWhatTheFollowerSays) {
  (void)Execute(1, At(10));
  Serve(kA, 11, Error(kA));
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
  EXPECT_THAT(Says(*Flush()), ElementsAre("1!"));
  (void)Execute(2, At(20));
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
  (void)session_.Await(kA, Epoch(1), 12);
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), At(20)) << "named anew";
}

TEST_F(LeaderSessionTest, AWithdrawalIsNamedInTheNextAnswerAndTheAnswerFollows) {
  (void)Execute(1, At(10));
  (void)session_.Await(kA, Epoch(1), 11);
  session_.Withdraw(kA);
  session_.Withdraw(kA);
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
  const auto answer = Flush();
  EXPECT_THAT(Says(*answer), ElementsAre("1?"));
  EXPECT_EQ(answer->entries[0].header.epoch, Epoch(0)) << "nothing of the new state may show";
  (void)Execute(2, At(20));
  EXPECT_EQ(Flush(), std::nullopt) << "said once";
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
  session_.Answer(kA, 11, Error(kA));
  EXPECT_THAT(Says(*Flush()), ElementsAre("1!"));
}

TEST_F(LeaderSessionTest, AFinalAnswerTakesThePlaceOfAnUnsentWithdrawal) {
  (void)Execute(1);
  (void)session_.Await(kA, Epoch(1), 11);
  session_.Withdraw(kA);
  session_.Answer(kA, 11, Error(kA));
  EXPECT_THAT(Says(*Flush()), ElementsAre("1!"));
}

TEST_F(LeaderSessionTest, WhatWasReadyFromBeforeAWithdrawalDoesNotLeave) {
  (void)Execute(1);
  Serve(kA, 11, Records(kA));
  session_.Withdraw(kA);
  const auto answer = Flush();
  EXPECT_THAT(Says(*answer), ElementsAre("1!")) << "final: no other answer will follow";
  EXPECT_FALSE(answer->entries[0].has_epoch);
  EXPECT_FALSE(session_.Awaits(kA, 11));
}

TEST_F(LeaderSessionTest, WhoDoesNotWaitNeedsNoWithdrawal) {
  (void)Execute(1);
  Serve(kA, 11, Nothing(kA));
  EXPECT_THAT(Says(*Flush()), ElementsAre("1"));
  session_.Withdraw(kA);
  session_.Withdraw(kB);
  (void)Execute(2);
  EXPECT_EQ(Flush(), std::nullopt);
  EXPECT_EQ(session_.LastSeen(kA, Epoch(1)), std::nullopt);
}

TEST_F(LeaderSessionTest, AFullAnswerStartsAnewWhereItStopped) {
  std::map<std::string, int> served;
  raft::Token token = 0;
  for (const PartitionId& id : {kA, kB, kC}) Serve(id, ++token, Records(id));
  for (uint64_t round = 1; round <= 30; ++round) {
    (void)Execute(round, At(0), 2 * kBatchSize);
    const auto answer = Flush();
    ASSERT_TRUE(answer.has_value());
    EXPECT_THAT(answer->entries, SizeIs(2)) << "two batches fit";
    for (const FetchAnswerEntry& entry : answer->entries) {
      ++served[absl::StrCat(entry.partition.topic.value())];
      Serve(entry.partition, ++token, Records(entry.partition));
    }
  }
  EXPECT_THAT(served,
              UnorderedElementsAre(std::pair("1", 20), std::pair("2", 20), std::pair("3", 20)));
}

TEST_F(LeaderSessionTest, WhatHoldsNoRecordsIsInTheNextAnswerHoweverFullThatIs) {
  Serve(kA, 11, Records(kA, 0, 50));
  (void)session_.Await(kB, Epoch(1), 12);
  session_.Withdraw(kB);
  Serve(kC, 13, Records(kC));
  (void)Execute(1, At(0), kBatchSize);
  const auto first = Flush();
  EXPECT_THAT(Says(*first), ElementsAre("1+1", "2?")) << "absence would vouch for it";
  (void)Execute(2, At(0), kBatchSize);
  EXPECT_THAT(Says(*Flush()), ElementsAre("3+1"));
}

TEST_F(LeaderSessionTest, AnAnswerAlwaysHoldsOneBatch) {
  Serve(kA, 11, Records(kA, 0, 3));
  Serve(kB, 12, Records(kB));
  (void)Execute(1, At(0), 0);
  EXPECT_THAT(Says(*Flush()), ElementsAre("1+1"));
  (void)Execute(2, At(0), 0);
  EXPECT_THAT(Says(*Flush()), ElementsAre("2+1"));
}

TEST_F(LeaderSessionTest, RecordsThatLeftTheCacheAreReadBeforeTheAnswer) {
  cached_.clear();
  (void)Execute(1);
  Serve(kA, 11, Records(kA, 5, 7));
  EXPECT_EQ(Flush(), std::nullopt) << "an answer without them would help nobody";
  std::vector<LeaderSession::Uncached> uncached = session_.TakeUncached();
  ASSERT_THAT(uncached, SizeIs(1));
  EXPECT_EQ(uncached[0].partition, kA);
  EXPECT_EQ(uncached[0].token, 11u);
  EXPECT_EQ(uncached[0].ready.range->from, Offset(5));
  EXPECT_THAT(session_.TakeUncached(), IsEmpty());
  EXPECT_TRUE(session_.Awaits(kA, 11));
  LeaderSession::Ready ready = std::move(uncached[0].ready);
  ready.range.reset();
  ready.entry.batches = {BatchAt(kA, 5), BatchAt(kA, 6)};
  session_.Answer(kA, 11, std::move(ready));
  EXPECT_THAT(Says(*Flush()), ElementsAre("1+2"));
}

TEST_F(LeaderSessionTest, AReadThatComesTooLateIsForgotten) {
  cached_.clear();
  (void)Execute(1);
  Serve(kA, 11, Records(kA));
  EXPECT_EQ(Flush(), std::nullopt);
  std::vector<LeaderSession::Uncached> uncached = session_.TakeUncached();
  ASSERT_THAT(uncached, SizeIs(1));
  EXPECT_EQ(session_.Await(kA, Epoch(1), 12), raft::Token{11});
  session_.Answer(kA, 11, Nothing(kA));
  EXPECT_EQ(Flush(), std::nullopt);
}

TEST_F(LeaderSessionTest, AWithdrawalDoesNotWaitForARead) {
  cached_.clear();
  (void)Execute(1);
  Serve(kA, 11, Records(kA));
  EXPECT_EQ(Flush(), std::nullopt);
  EXPECT_THAT(session_.TakeUncached(), SizeIs(1));
  session_.Withdraw(kA);
  EXPECT_THAT(Says(*Flush()), ElementsAre("1?"));
  (void)Execute(2);
  session_.Answer(kA, 11, Error(kA));
  EXPECT_THAT(Says(*Flush()), ElementsAre("1!"));
}

TEST_F(LeaderSessionTest, ReadsAndWhatTheyBroughtAreBounded) {
  cached_.clear();
  (void)Execute(1, At(0), kBatchSize);
  for (uint64_t topic = 1; topic <= 20; ++topic) Serve(Id(topic), topic, Records(Id(topic)));
  EXPECT_EQ(Flush(), std::nullopt);
  std::vector<LeaderSession::Uncached> reads = session_.TakeUncached();
  EXPECT_THAT(reads, SizeIs(LeaderSession::kDiskReadsMax));
  for (LeaderSession::Uncached& read : reads) {
    read.ready.range.reset();
    read.ready.entry.batches = {BatchAt(read.partition, 0)};
    session_.Answer(read.partition, read.token, std::move(read.ready));
  }
  EXPECT_THAT(Flush()->entries, SizeIs(1)) << "one batch fits";
  (void)Execute(2, At(0), kBatchSize);
  EXPECT_THAT(Flush()->entries, SizeIs(1));
  EXPECT_THAT(session_.TakeUncached(), SizeIs(1)) << "the one that was sent made room for one";
}

TEST_F(LeaderSessionTest, EveryPartitionIsServedFromADiskThatIsRead) {
  cached_.clear();
  std::map<PartitionId, int> served;
  for (uint64_t topic = 1; topic <= 20; ++topic) Serve(Id(topic), topic, Records(Id(topic)));
  raft::Token token = 100;
  uint64_t request = 1;
  (void)Execute(request, At(0), 4 * kBatchSize);
  for (int step = 0; step < 1000 && request <= 100; ++step) {
    const auto answer = Flush();
    for (LeaderSession::Uncached& read : session_.TakeUncached()) {
      read.ready.range.reset();
      read.ready.entry.batches = {BatchAt(read.partition, 0)};
      session_.Answer(read.partition, read.token, std::move(read.ready));
    }
    if (!answer.has_value()) continue;
    for (const FetchAnswerEntry& entry : answer->entries) {
      ++served[entry.partition];
      Serve(entry.partition, ++token, Records(entry.partition));
    }
    (void)Execute(++request, At(0), 4 * kBatchSize);
  }
  EXPECT_THAT(served, SizeIs(20));
  for (const auto& [partition, count] : served) EXPECT_GE(count, 10) << partition;
}

TEST_F(LeaderSessionTest, AnEndAnswersEverybodyAndNamesWhoIsToBeCancelled) {
  (void)Execute(1);
  (void)session_.Await(kA, Epoch(1), 11);
  Serve(kB, 12, Nothing(kB));
  session_.Hold(RequestNo(3), [](LaneResponse) {});
  LeaderSession::Ending ending = session_.End(SessionError::kInvalidSessionEpoch);
  ASSERT_THAT(ending.answers, SizeIs(2));
  EXPECT_EQ(ending.answers[0].answer.session->request_number, 1u);
  EXPECT_EQ(ending.answers[1].answer.session->request_number, 3u);
  for (const LeaderSession::Released& released : ending.answers) {
    EXPECT_EQ(released.answer.session->error, SessionError::kInvalidSessionEpoch);
    EXPECT_EQ(released.answer.session->session_id, kSession);
    EXPECT_THAT(released.answer.entries, IsEmpty());
  }
  EXPECT_THAT(ending.cancelled, ElementsAre(std::pair(kA, raft::Token{11})));
  EXPECT_EQ(session_.entry_count(), 0u);
  EXPECT_EQ(session_.deadline(), kNever);
}

}  // namespace
}  // namespace quorum::shard

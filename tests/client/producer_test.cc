// Producers against a scripted log: exactly once, in order, three outcomes.

#include "client/producer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/quorum_client.h"
#include "service/base/mutex.h"
#include "tests/client/fake_log.h"
#include "tests/client/producer_fixture.h"

namespace quorum::client {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using Fault = FakeLog::Fault;

TEST_F(ProducerTest, Appends_AreCommittedOnceInOrder) {
  Producer producer(*client_);
  Outcomes outcomes;
  std::vector<std::string> wanted;
  for (int i = 0; i < 500; ++i) {
    wanted.push_back("v" + std::to_string(i));
    producer.Append(SpecOf(wanted.back()), outcomes.Next());
  }
  ASSERT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), std::string(500, 'C'));
  EXPECT_EQ(log_.values(), wanted);
  for (size_t i = 0; i < 500; ++i) {
    const AppendOutcome outcome = outcomes.At(i);
    EXPECT_EQ(std::get<Committed>(outcome).base_offset, Offset(static_cast<int64_t>(i)));
  }
  EXPECT_LT(log_.batches(), 250u) << "appends gather while others are on their way";
}

TEST_F(ProducerTest, RecordsOfOneAppend_AreOneBatch) {
  Producer producer(*client_);
  AppendSpec spec{kOrders, {RecordOf("k", "a"), RecordOf("b"), RecordOf("c")}};
  const AppendOutcome outcome = producer.AppendAndWait(spec);
  ASSERT_EQ(LetterOf(outcome), 'C') << ErrorOf(outcome).ToString();
  EXPECT_EQ(std::get<Committed>(outcome).base_offset, Offset(0));
  const auto requests = node_.append.requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].records_size(), 3);
  EXPECT_EQ(requests[0].records(0).key(), "k");
  EXPECT_EQ(requests[0].producer().base_sequence(), 0);
  EXPECT_TRUE(requests[0].has_timeout());
}

TEST_F(ProducerTest, LostAnswer_IsFoundOutByTheSameSequence) {
  Producer producer(*client_);
  log_.FailNext(Fault::kLoseAnswer, 2);
  const AppendOutcome outcome = producer.AppendAndWait(SpecOf("a"));
  ASSERT_EQ(LetterOf(outcome), 'C') << ErrorOf(outcome).ToString();
  EXPECT_TRUE(std::get<Committed>(outcome).duplicate);
  EXPECT_THAT(log_.values(), ElementsAre("a"));
}

TEST_F(ProducerTest, CommitUnknown_IsRepeatedUntilItIsKnown) {
  Producer producer(*client_);
  node_.append.Then([](auto...) {
    return ToStatus({google::rpc::DEADLINE_EXCEEDED, "COMMIT_UNKNOWN"});
  });
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("a"))), 'C');
  EXPECT_THAT(log_.values(), ElementsAre("a"));
}

TEST_F(ProducerTest, RefusalAfterALostAttempt_ProvesNothing) {
  Producer producer(*client_);
  ASSERT_EQ(LetterOf(producer.AppendAndWait(SpecOf("a"))), 'C');
  log_.FailNext(Fault::kLoseAnswer);
  log_.FailNext(Fault::kRefuse, 1000);
  AppendSpec spec = SpecOf("b");
  spec.timeout = milliseconds(300);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(spec)), 'U');
  EXPECT_THAT(log_.values(), ElementsAre("a", "b"));
}

TEST_F(ProducerTest, NothingButRefusals_AreRefusedAtTheDeadline) {
  Producer producer(*client_);
  log_.FailNext(Fault::kRefuse, 100000);
  AppendSpec spec = SpecOf("a");
  spec.timeout = milliseconds(200);
  const AppendOutcome outcome = producer.AppendAndWait(spec);
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_LEADER_NOT_AVAILABLE);
}

TEST_F(ProducerTest, UnknownThatIsGivenUp_RaisesTheEpochAndGoesOn) {
  Producer producer(*client_);
  log_.FailNext(Fault::kLoseAnswer, 100000);
  AppendSpec spec = SpecOf("a");
  spec.timeout = milliseconds(200);
  ASSERT_EQ(LetterOf(producer.AppendAndWait(spec)), 'U');
  log_.Serve(&node_);
  FakeLog other;
  const auto before = node_.append.requests();
  node_.append.Always(
      [](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* answer) {
        answer->set_base_offset(1);
        return grpc::Status::OK;
      });
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("b"))), 'C');
  const auto requests = node_.append.requests();
  EXPECT_EQ(requests.back().producer().producer_id(), before.back().producer().producer_id());
  EXPECT_EQ(requests.back().producer().producer_epoch(), 1);
  EXPECT_EQ(requests.back().producer().base_sequence(), 0);
}

TEST_F(ProducerTest, RefusedBatch_GivesItsSequenceToTheNext) {
  Producer producer(*client_);
  ASSERT_EQ(LetterOf(producer.AppendAndWait(SpecOf("a"))), 'C');
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("poison"))), 'R');
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("b"))), 'C');
  EXPECT_EQ(node_.append.requests().back().producer().base_sequence(), 1);
  EXPECT_EQ(node_.append.requests().back().producer().producer_epoch(), 0);
}

TEST_F(ProducerTest, BadRecord_DoesNotTakeTheOthersOfItsBatchWithIt) {
  Producer producer(*client_);
  Outcomes outcomes;
  std::string letters;
  for (int i = 0; i < 100; ++i) {
    const bool poison = i % 10 == 7;
    letters += poison ? 'R' : 'C';
    producer.Append(SpecOf(poison ? "poison" : "v" + std::to_string(i)), outcomes.Next());
  }
  ASSERT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), letters);
  EXPECT_EQ(log_.values().size(), 90u);
}

// A named one, because it has no other epoch to go to.
TEST_F(ProducerTest, OvertakenBatches_KeepTheirOrder) {
  ProducerOptions options;
  options.name = "controller";
  Producer producer(*client_, options);
  ASSERT_TRUE(producer.Init(kOrders).ok());
  log_.FailNext(Fault::kOvertaken, 3);
  Outcomes outcomes;
  std::vector<std::string> wanted;
  for (int i = 0; i < 20; ++i) {
    wanted.push_back("v" + std::to_string(i));
    AppendSpec spec = SpecOf(wanted.back());
    spec.leader_epoch = Epoch(3);  // A batch of its own.
    producer.Append(spec, outcomes.Next());
  }
  ASSERT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), std::string(20, 'C'));
  EXPECT_EQ(log_.values(), wanted);
}

TEST_F(ProducerTest, LostAnswer_IsNotForgottenBehindNewerBatches) {
  ClientOptions client_options;
  client_options.bootstrap = {node_.address()};
  // Time for many others before the first retry.
  client_options.retry.backoff_first = milliseconds(300);
  const QuorumClient client(client_options);
  Producer producer(client);
  ASSERT_TRUE(producer.Init(kOrders).ok());
  log_.FailNext(Fault::kLoseAnswer);
  Outcomes outcomes;
  for (int i = 0; i < 20; ++i) {
    AppendSpec spec = SpecOf("v" + std::to_string(i));
    spec.leader_epoch = Epoch(3);  // A batch of its own.
    producer.Append(spec, outcomes.Next());
    if (i == 0) ASSERT_TRUE(node_.append.Await(1)) << "the fault is the first one's";
  }
  ASSERT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), std::string(20, 'C'));
  EXPECT_EQ(log_.values().size(), 20u);
}

// The second batch is lost, then found to be too early; what it is told after that proves nothing.
TEST_F(ProducerTest, LostAttempt_IsNotForgottenWhileAnEarlierBatchIsOpen) {
  node_.append.Then(
      [this](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* answer) {
        // The fourth is sent once the third was answered.
        EXPECT_TRUE(node_.append.Await(4));
        answer->set_base_offset(0);
        return grpc::Status::OK;
      });
  node_.append.Then([](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "lost"); });
  node_.append.Then([](auto...) {
    return ToStatus(AsRefused({google::rpc::FAILED_PRECONDITION, "OUT_OF_ORDER_SEQUENCE"}));
  });
  node_.append.Always([](auto...) {
    return ToStatus(AsRefused({google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE"}));
  });
  Producer producer(*client_);
  const PartitionName other{"orders", 1};
  ASSERT_TRUE(producer.Init(other).ok());
  Outcomes outcomes;
  producer.Append(SpecOf("a"), outcomes.Next());
  ASSERT_TRUE(node_.append.Await(1));
  AppendSpec spec = SpecOf("b");
  spec.timeout = milliseconds(500);
  producer.Append(spec, outcomes.Next());
  ASSERT_TRUE(node_.append.Await(3));
  EXPECT_EQ(LetterOf(producer.AppendAndWait({other, {RecordOf("c")}, {}, {}, milliseconds(50)})),
            'R');
  ASSERT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), "CU");
}

TEST_F(ProducerTest, ForgottenProducer_BecomesAnother) {
  Producer producer(*client_);
  ASSERT_EQ(LetterOf(producer.AppendAndWait(SpecOf("a"))), 'C');
  log_.Forget();
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("b"))), 'C');
  EXPECT_EQ(node_.init_producer.requests().size(), 2u);
  EXPECT_THAT(log_.values(), ElementsAre("a", "b"));
}

TEST_F(ProducerTest, ExpectedOffset_IsJudgedOnce) {
  Producer producer(*client_);
  AppendSpec spec = SpecOf("a");
  spec.expected_offset = Offset(0);
  // Its own success must not refuse the retry.
  log_.FailNext(Fault::kLoseAnswer);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(spec)), 'C');
  log_.AppendElsewhere("x");
  spec = SpecOf("b");
  spec.expected_offset = Offset(1);
  log_.FailNext(Fault::kLoseRequest);
  const AppendOutcome outcome = producer.AppendAndWait(spec);
  ASSERT_EQ(LetterOf(outcome), 'R') << "the condition fails for the lost attempt too";
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_OFFSET_MISMATCH);
  EXPECT_EQ(ErrorOf(outcome).metadata.at("log_end"), "2");
  spec.expected_offset = Offset(2);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(spec)), 'C');
  EXPECT_THAT(log_.values(), ElementsAre("a", "x", "b"));
}

TEST_F(ProducerTest, ExpectedOffsetBeyondTheEnd_ProvesNothingOfALostAttempt) {
  Producer producer(*client_);
  AppendSpec spec = SpecOf("b");
  spec.expected_offset = Offset(1);
  log_.FailNext(Fault::kArriveLate);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(spec)), 'U');
  log_.AppendElsewhere("a");
  log_.LetAllArrive();
  EXPECT_THAT(log_.values(), ElementsAre("a", "b"));
}

TEST_F(ProducerTest, InitWithoutAWord_IsAskedAgain) {
  node_.init_producer.Then([](auto...) {
    return ToStatus({google::rpc::DEADLINE_EXCEEDED, "COMMIT_UNKNOWN"});
  });
  node_.init_producer.Then(
      [](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"); });
  ProducerOptions options;
  options.name = "controller";
  Producer producer(*client_, options);
  EXPECT_TRUE(producer.Init(kOrders).ok());
  EXPECT_EQ(node_.init_producer.requests().size(), 3u);
}

TEST_F(ProducerTest, NamedSuccessor_FencesThePredecessorForGood) {
  ProducerOptions options;
  options.name = "controller";
  Producer first(*client_, options);
  ASSERT_EQ(LetterOf(first.AppendAndWait(SpecOf("a"))), 'C');
  Producer second(*client_, options);
  const auto identity = second.Init(kOrders);
  ASSERT_TRUE(identity.ok());
  EXPECT_EQ(identity.value().epoch, 1);
  EXPECT_EQ(identity.value().expiry, seconds(86400));
  AppendOutcome outcome = first.AppendAndWait(SpecOf("late"));
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_PRODUCER_FENCED);
  // At once, and without a word to the server: it must not fence its successor.
  const size_t asked = node_.append.requests().size();
  outcome = first.AppendAndWait(SpecOf("later"));
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_PRODUCER_FENCED);
  EXPECT_EQ(node_.append.requests().size(), asked);
  EXPECT_EQ(node_.init_producer.requests().size(), 2u);
  EXPECT_FALSE(first.Init(kOrders).ok());
  EXPECT_EQ(LetterOf(second.AppendAndWait(SpecOf("b"))), 'C');
  EXPECT_THAT(log_.values(), ElementsAre("a", "b"));
  EXPECT_EQ(node_.init_producer.requests()[0].name(), "controller");
  EXPECT_EQ(node_.init_producer.requests()[0].topic(), "orders");
  EXPECT_TRUE(node_.init_producer.requests()[0].has_partition());
}

TEST_F(ProducerTest, NamedWithAnUnknownOutcome_EndsInsteadOfGuessing) {
  ProducerOptions options;
  options.name = "controller";
  Producer producer(*client_, options);
  log_.FailNext(Fault::kLoseAnswer, 100000);
  AppendSpec spec = SpecOf("a");
  spec.timeout = milliseconds(200);
  ASSERT_EQ(LetterOf(producer.AppendAndWait(spec)), 'U');
  const AppendOutcome outcome = producer.AppendAndWait(SpecOf("b"));
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).code, google::rpc::FAILED_PRECONDITION);
  EXPECT_EQ(node_.init_producer.requests().size(), 1u);
}

TEST_F(ProducerTest, InitThatFailsForGood_RefusesWhatWaits) {
  node_.init_producer.Always([](auto...) {
    return ToStatus({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION"});
  });
  Producer producer(*client_);
  const AppendOutcome outcome = producer.AppendAndWait(SpecOf("a"));
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).reason, v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION);
  EXPECT_FALSE(producer.Init(kOrders).ok());
  // A topic that is created later is found.
  log_.Serve(&node_);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("b"))), 'C');
}

TEST_F(ProducerTest, NobodyThere_IsRefusedAtTheDeadline) {
  node_.Kill();
  Producer producer(*client_);
  AppendSpec spec = SpecOf("a");
  spec.timeout = milliseconds(100);
  const AppendOutcome outcome = producer.AppendAndWait(spec);
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).origin, Error::Origin::kNotSent);
}

TEST_F(ProducerTest, AppendWithoutARecord_IsRefused) {
  Producer producer(*client_);
  const AppendOutcome outcome = producer.AppendAndWait({kOrders, {}});
  ASSERT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).code, google::rpc::INVALID_ARGUMENT);
}

TEST_F(ProducerTest, Memory_IsWaitedForUntilTheDeadline) {
  Mutex mutex;
  CondVar changed;
  bool released = false;
  node_.append.Always(
      [&](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* answer) {
        MutexLock lock(&mutex);
        while (!released) changed.Wait(&mutex);
        answer->set_base_offset(1);
        return grpc::Status::OK;
      });
  ProducerOptions options;
  options.buffer_bytes_max = 100'000;
  Producer producer(*client_, options);
  Outcomes outcomes;
  // More than all there is, when nothing else is held.
  producer.Append(SpecOf(std::string(200'000, 'v')), outcomes.Next());
  AppendSpec spec = SpecOf("b");
  spec.timeout = milliseconds(50);
  producer.Append(spec, outcomes.Next());
  EXPECT_EQ(outcomes.Letters(), "-R") << "there was no room in time";
  EXPECT_EQ(ErrorOf(outcomes.At(1)).code, google::rpc::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ErrorOf(outcomes.At(1)).origin, Error::Origin::kNotSent);
  EXPECT_FALSE(producer.Flush(milliseconds(1)));
  {
    MutexLock lock(&mutex);
    released = true;
    changed.NotifyAll();
  }
  producer.Append(SpecOf("c"), outcomes.Next());
  EXPECT_TRUE(producer.Flush(seconds(20)));
  EXPECT_EQ(outcomes.Letters(), "CRC");
}

TEST_F(ProducerTest, TooLargeForAMessage_IsRefusedHere) {
  ProducerOptions options;
  options.name = "controller";
  Producer producer(*client_, options);
  const AppendOutcome outcome = producer.AppendAndWait(SpecOf(std::string(size_t{17} << 20, 'v')));
  EXPECT_EQ(LetterOf(outcome), 'R');
  EXPECT_EQ(ErrorOf(outcome).code, google::rpc::INVALID_ARGUMENT);
  EXPECT_EQ(LetterOf(producer.AppendAndWait(SpecOf("small"))), 'C') << "it goes on";
}

// Every promise at once, against a log that loses, delays, refuses and reorders by chance.
class ProducerChanceTest : public ProducerTest, public ::testing::WithParamInterface<int> {
 protected:
  // The appends' values are their numbers.
  void Check(Outcomes& outcomes, int count) {
    log_.LetAllArrive();
    const std::vector<std::string> values = log_.values();
    int64_t last = -1;
    for (int i = 0; i < count; ++i) {
      const auto times = std::count(values.begin(), values.end(), std::to_string(i));
      const AppendOutcome outcome = outcomes.At(static_cast<size_t>(i));
      switch (LetterOf(outcome)) {
        case 'C': {
          const int64_t offset = std::get<Committed>(outcome).base_offset.value();
          ASSERT_LT(static_cast<size_t>(offset), values.size());
          EXPECT_EQ(values[static_cast<size_t>(offset)], std::to_string(i));
          EXPECT_EQ(times, 1) << i << " is in the log " << times << " times";
          EXPECT_GT(offset, last) << i << " stands before an earlier append";
          last = offset;
          break;
        }
        case 'R':
          EXPECT_EQ(times, 0) << i << " was refused and is in the log";
          break;
        default:
          EXPECT_LE(times, 1) << i << " is in the log " << times << " times";
      }
    }
  }

  void Run(Producer& producer, int count, Duration timeout) {
    Outcomes outcomes;
    Prng prng(static_cast<uint64_t>(GetParam()));
    log_.FailAtRandom(static_cast<uint64_t>(GetParam()), 400'000);
    for (int i = 0; i < count; ++i) {
      AppendSpec spec = SpecOf(std::to_string(i));
      spec.timeout = timeout;
      if (prng.Chance(200'000)) spec.leader_epoch = Epoch(3);
      if (prng.Chance(100'000)) spec.expected_offset = Offset(prng.Between(0, i));
      producer.Append(std::move(spec), outcomes.Next());
      // In bursts.
      if (prng.Chance(100'000)) EXPECT_TRUE(producer.Flush(seconds(60)));
    }
    ASSERT_TRUE(producer.Flush(seconds(60)));
    RecordProperty("outcomes", outcomes.Letters());
    Check(outcomes, count);
  }
};

TEST_P(ProducerChanceTest, Anonymous) {
  Producer producer(*client_);
  Run(producer, 300, seconds(30));
}

TEST_P(ProducerChanceTest, AnonymousThatGivesUp) {
  Producer producer(*client_);
  Run(producer, 300, milliseconds(25));
}

TEST_P(ProducerChanceTest, NamedThatGivesUp) {
  ProducerOptions options;
  options.name = "controller";
  Producer producer(*client_, options);
  Run(producer, 100, milliseconds(25));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ProducerChanceTest, ::testing::Range(1, 9));

}  // namespace
}  // namespace quorum::client

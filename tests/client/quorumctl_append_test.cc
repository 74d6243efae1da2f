// `quorumctl append` end to end against a scripted node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/client/fake_node.h"
#include "tests/client/quorumctl_fixture.h"

namespace quorum::client::quorumctl {
namespace {

using ::testing::HasSubstr;

TEST_F(QuorumctlTest, Append_FromWordsIsOneBatch) {
  node_.append.Always(CommitAt(17, 2, 4));
  const Output one = Run({"append", "orders:0", "v1", "--key=k1"});
  EXPECT_EQ(one.code, ExitCode::kDone);
  EXPECT_EQ(one.out, "committed orders:0 offset 17 epoch 4\n");
  EXPECT_EQ(one.err, "1 committed, 0 refused, 0 unknown\n");
  EXPECT_EQ(Run({"append", "orders:0", "v1", "v2", "v3"}).out,
            "committed orders:0 offsets 17-19 epoch 4\n");
  EXPECT_EQ(Run({"append", "orders:0", "v1", "-o", "json"}).out,
            "{\"topic\":\"orders\",\"partition\":0,\"outcome\":\"committed\",\"baseOffset\":\"17\","
            "\"recordCount\":1,\"leaderEpoch\":\"4\",\"leaderId\":2,\"duplicate\":false}\n");
  const auto requests = node_.append.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].records(0).key(), "k1");
  EXPECT_FALSE(requests[1].records(0).has_key());
  EXPECT_EQ(requests[1].records_size(), 3);
}

TEST_F(QuorumctlTest, Append_Tombstone) {
  node_.append.Always(CommitAt(1));
  EXPECT_EQ(Run({"append", "orders:0", "--key=k", "--tombstone"}).code, ExitCode::kDone);
  const auto requests = node_.append.requests();
  ASSERT_EQ(requests.size(), 1u);
  ASSERT_EQ(requests[0].records_size(), 1);
  EXPECT_FALSE(requests[0].records(0).has_value());
}

TEST_F(QuorumctlTest, Append_FromLines) {
  node_.append.Then(CommitAt(0, 2, 4));
  node_.append.Then(CommitAt(2, 2, 4));
  const Output output = Run({"append", "orders:0", "--batch=2"}, "a\n\nc");
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.out,
            "committed orders:0 offsets 0-1 epoch 4\n"
            "committed orders:0 offset 2 epoch 4\n");
  EXPECT_EQ(output.err, "3 committed, 0 refused, 0 unknown\n");
  // How many calls they went in is the producer's choice.
  std::vector<std::string> values;
  for (const v1::AppendRequest& request : node_.append.requests()) {
    for (const v1::Record& record : request.records()) {
      EXPECT_TRUE(record.has_value()) << "an empty line is an empty value";
      values.push_back(record.value());
    }
  }
  EXPECT_THAT(values, ::testing::ElementsAre("a", "", "c"));
}

// Takes nothing before the node has got so many records.
class SlowPipe : public std::stringbuf {
 public:
  SlowPipe(FakeNode& node, int records) : node_(node), records_(records) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    for (size_t calls = 1; Records() < records_ && node_.append.Await(calls); ++calls) {
    }
    EXPECT_GE(Records(), records_) << "appends wait for who reads their outcomes";
    return std::stringbuf::xsputn(text, count);
  }

 private:
  int Records() {
    int records = 0;
    for (const v1::AppendRequest& request : node_.append.requests()) {
      records += request.records_size();
    }
    return records;
  }

  FakeNode& node_;
  const int records_;
};

TEST_F(QuorumctlTest, Append_DoesNotWaitForWhoReadsTheOutcomes) {
  node_.append.Always(CommitAt(0, 2, 4));
  std::string lines;
  for (int i = 0; i < 300; ++i) lines += "a line\n";
  std::istringstream input(lines);
  std::ostringstream err;
  SlowPipe pipe(node_, 300);
  std::ostream out(&pipe);
  Streams streams{input, out, err};
  EXPECT_EQ(RunQuorumctl({"append", "orders:0", "--bootstrap=" + node_.address()}, streams), 0);
  EXPECT_EQ(err.str(), "300 committed, 0 refused, 0 unknown\n");
  const std::string text = pipe.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 300);
}

TEST_F(QuorumctlTest, Append_LostAnswerIsFoundOut) {
  node_.append.Then(
      [](auto...) { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed"); });
  node_.append.Always(CommitAt(0, 2, 4));
  const Output output = Run({"append", "orders:0"}, "a\n");
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.out, "committed orders:0 offset 0 epoch 4\n");
  EXPECT_EQ(output.err, "1 committed, 0 refused, 0 unknown\n");
  const auto requests = node_.append.requests();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].producer().base_sequence(), requests[1].producer().base_sequence());
}

TEST_F(QuorumctlTest, Append_UnknownToTheEndIsUnknown) {
  Fail(node_.append,
       {google::rpc::DEADLINE_EXCEEDED, "COMMIT_UNKNOWN", "not known to be committed"});
  const Output output = Run({"append", "orders:0", "--timeout=500ms"}, "a\nb\nc\n");
  EXPECT_EQ(output.code, ExitCode::kUnknown);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(
      output.err,
      ::testing::StartsWith("quorumctl: append to orders:0: outcome unknown, it was perhaps done\n"
                            "  why: COMMIT_UNKNOWN: not known to be committed (attempts: "));
  EXPECT_THAT(output.err,
              ::testing::EndsWith(
                  "\n  do:  read it back before repeating it: quorumctl tail orders:0 --until-end\n"
                  "0 committed, 0 refused, 3 unknown\n"));
}

TEST_F(QuorumctlTest, Append_OneFailureEndsTheInput) {
  Fail(node_.append, AsRefused({google::rpc::INVALID_ARGUMENT, "INVALID_REQUEST", "no"}));
  std::string lines;
  // More than the producer takes before it hears of the first.
  const std::string line(100'000, 'v');
  for (int i = 0; i < 2000; ++i) lines += line + "\n";
  const Output output = Run({"append", "orders:0"}, lines);
  EXPECT_EQ(output.code, ExitCode::kRefused);
  EXPECT_THAT(output.err, HasSubstr("\n0 committed, "));
  EXPECT_THAT(output.err, ::testing::Not(HasSubstr(" 2000 refused")));
}

TEST_F(QuorumctlTest, Append_ExpectedOffset) {
  Fail(node_.append,
       AsRefused(
           {google::rpc::ABORTED, "OFFSET_MISMATCH", "the log ends at 9", {{"log_end", "9"}}}));
  const Output output = Run({"append", "orders:0", "v", "--expected-offset=7"});
  EXPECT_EQ(output.code, ExitCode::kRefused);
  EXPECT_EQ(output.err,
            "quorumctl: append to orders:0: refused, nothing was changed\n"
            "  why: OFFSET_MISMATCH: the log ends at 9\n"
            "  do:  read what was appended meanwhile, then expect the new end: "
            "quorumctl tail orders:0 --until-end\n"
            "0 committed, 1 refused, 0 unknown\n");
  ASSERT_EQ(node_.append.requests().size(), 1u);
  EXPECT_EQ(node_.append.requests()[0].expected_offset(), 7);
}

TEST_F(QuorumctlTest, Append_AsANamedProducer) {
  Fail(node_.append, AsRefused({google::rpc::FAILED_PRECONDITION,
                                "PRODUCER_FENCED",
                                "epoch 3 is the newest",
                                {{"producer_epoch", "3"}}}));
  const Output output = Run({"append", "orders:0", "v", "--producer=controller"});
  EXPECT_EQ(output.code, ExitCode::kRefused);
  EXPECT_THAT(output.err, HasSubstr("another producer of that name has taken over"));
  ASSERT_EQ(node_.init_producer.requests().size(), 1u);
  EXPECT_EQ(node_.init_producer.requests()[0].name(), "controller");
}

TEST_F(QuorumctlTest, Append_NoInputIsDone) {
  const Output output = Run({"append", "orders:0"});
  EXPECT_EQ(output.code, ExitCode::kDone);
  EXPECT_EQ(output.err, "0 committed, 0 refused, 0 unknown\n");
}

TEST_F(QuorumctlTest, Append_RefusedWithLeaderHint) {
  Fail(
      node_.append,
      AsRefused({google::rpc::FAILED_PRECONDITION,
                 "FENCED_LEADER_EPOCH",
                 "epoch 3 is over",
                 {{"leader_id", "2"}, {"leader_epoch", "4"}, {"leader_endpoint", "127.0.0.1:9"}}}));
  const Output output = Run({"append", "orders:0", "v", "-o", "json"});
  EXPECT_EQ(output.code, ExitCode::kRefused);
  EXPECT_EQ(output.out,
            "{\"topic\":\"orders\",\"partition\":0,\"outcome\":\"refused\","
            "\"code\":\"FAILED_PRECONDITION\",\"reason\":\"FENCED_LEADER_EPOCH\","
            "\"message\":\"epoch 3 is over\"}\n");
  EXPECT_EQ(output.err,
            "quorumctl: append to orders:0: refused, nothing was changed\n"
            "  why: FENCED_LEADER_EPOCH: epoch 3 is over "
            "(leader: node 2 at 127.0.0.1:9, epoch 4)\n"
            "  do:  see what there is: quorumctl quorum describe orders:0\n"
            "0 committed, 1 refused, 0 unknown\n");
}

TEST_F(QuorumctlTest, Append_NoSuchPartition) {
  Fail(node_.append, AsRefused({google::rpc::NOT_FOUND, "UNKNOWN_TOPIC_OR_PARTITION", "no"}));
  EXPECT_EQ(Run({"append", "orders:9", "v"}).code, ExitCode::kNotFound);
}

TEST_F(QuorumctlTest, Append_NobodyThere) {
  node_.Kill();
  const Output output = Run({"append", "orders:0", "v", "--timeout=300ms"});
  EXPECT_EQ(output.code, ExitCode::kUnreachable);
  EXPECT_EQ(output.err,
            "quorumctl: append to orders:0: no answer in time\n"
            "  why: UNAVAILABLE: no node could be reached at " +
                node_.address() +
                "\n  do:  nothing was sent; check --bootstrap, and that the nodes run\n"
                "0 committed, 1 refused, 0 unknown\n");
}

TEST_F(QuorumctlTest, Append_TriesUntilTheTimeout) {
  Fail(node_.append, AsRefused({google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE", "no leader"}));
  const Output output = Run({"append", "orders:0", "v", "--timeout=1s"});
  EXPECT_EQ(output.code, ExitCode::kRefused) << output.err;
  EXPECT_THAT(output.err, HasSubstr("  why: LEADER_NOT_AVAILABLE: no leader (attempts: "));
  EXPECT_GT(node_.append.requests().size(), 2u);
}

}  // namespace
}  // namespace quorum::client::quorumctl

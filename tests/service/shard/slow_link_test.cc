// How much a follower asks its leader for, and that it catches up over a link that cannot carry as
// much as it may ask for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/service/shard/shard_harness.h"

namespace quorum::shard {
namespace {

using testing::SizeIs;

const PartitionId kA = Id(10);

// Leads kA on node 2 and reaches the follower over a link of `bytes_per_ms`. Nobody else answers.
class SlowLink {
 public:
  SlowLink(ShardHarness* shard, int64_t batch_count, size_t bytes_per_ms)
      : bytes_per_ms(bytes_per_ms), shard_(*shard) {
    for (int64_t offset = 0; offset < batch_count; ++offset) {
      log_.push_back(BatchAt(kA, offset, 1, 1, 8'000));
    }
  }

  Offset end() const { return log_.back().next_offset(); }
  // What its Fetches have asked for, in the order in which they were sent.
  const std::vector<size_t>& asked() const { return asked_; }
  int failures() const { return failures_; }

  // Carries what there is to carry until the follower has everything, or for `time` at most.
  bool CatchUp(Duration time) {
    const MonoTime until = shard_.now() + time;
    while (shard_.Replica(kA).log().end() < end()) {
      if (shard_.now() >= until) return false;
      for (SentRequest& request : std::exchange(shard_.sent(), {})) Take(std::move(request));
      shard_.Advance(Ms(10));
      Carry();
      shard_.Sync();
      // As the leader does for who does not follow it.
      (void)shard_.Request(2, BeginBatch{{BeginEntry{kA, Epoch(1)}}});
      shard_.Sync();
    }
    return true;
  }

  size_t bytes_per_ms;

 private:
  struct Carried {
    SentRequest request;
    std::vector<RecordBatch> batches;
    MonoTime arrives;
    bool fails = false;
  };

  // The request has reached the leader.
  void Take(SentRequest request) {
    const FetchBatch* fetch = request.As<FetchBatch>();
    if (fetch == nullptr || request.to() != Key(2)) {
      shard_.Fail(&request);
      return;
    }
    asked_.push_back(fetch->max_bytes);
    Carried carried;
    size_t bytes = 0;
    for (const FetchEntry& entry : fetch->entries) {
      if (entry.withdraw) continue;
      for (int64_t at = entry.fetch_offset.value(); at < end().value(); ++at) {
        const RecordBatch& batch = log_.at(static_cast<size_t>(at));
        if (bytes > 0 && bytes + batch.size() > fetch->max_bytes) break;
        bytes += batch.size();
        carried.batches.push_back(batch);
      }
    }
    const Duration transfer = Ms(static_cast<int64_t>(bytes / bytes_per_ms));
    carried.fails = transfer > request.timeout;
    carried.arrives = shard_.now() + std::min(transfer, request.timeout);
    carried.request = std::move(request);
    carried_.push_back(std::move(carried));
  }

  void Carry() {
    for (Carried& carried : std::exchange(carried_, {})) {
      if (carried.arrives > shard_.now()) {
        carried_.push_back(std::move(carried));
      } else if (carried.fails) {
        ++failures_;
        shard_.Fail(&carried.request);
      } else {
        Answer(&carried);
      }
    }
  }

  void Answer(Carried* carried) {
    const SessionRequestPlace& place = *carried->request.As<FetchBatch>()->session;
    if (place.session_id != session_) last_answer_ = 0;
    session_ = place.session_id;
    std::vector<FetchAnswerEntry> entries;
    if (!carried->batches.empty()) entries = {Fetched(kA, 2, 1, std::move(carried->batches), 0)};
    shard_.Answer(&carried->request, SessionAnswer(carried->request, ++last_answer_, entries));
  }

  ShardHarness& shard_;
  std::vector<RecordBatch> log_;
  std::vector<Carried> carried_;
  std::vector<size_t> asked_;
  uint64_t session_ = 0;
  uint64_t last_answer_ = 0;
  int failures_ = 0;
};

TEST(SlowLinkTest, AFollowerThatIsFarBehindCatchesUp) {
  ShardHarness shard;
  shard.Follow({kA});
  // 5 MB, which no single Fetch can bring in time.
  SlowLink link(&shard, 625, 100);
  EXPECT_FALSE(link.CatchUp(Ms(30'000)));
  EXPECT_GT(shard.Replica(kA).log().end(), Offset(0));
  const int failures = link.failures();
  EXPECT_TRUE(link.CatchUp(Ms(60'000)));
  EXPECT_EQ(link.failures(), failures) << "it has learned how much the link carries";
}

TEST(SlowLinkTest, AQuickLinkIsAskedForTheMostAgain) {
  ShardHarness shard;
  shard.Follow({kA});
  SlowLink link(&shard, 4'000, 100);
  EXPECT_FALSE(link.CatchUp(Ms(30'000)));
  ASSERT_LE(link.asked().back(), 128u << 10);
  link.bytes_per_ms = 1'000'000;
  EXPECT_TRUE(link.CatchUp(Ms(10'000)));
  EXPECT_EQ(link.asked().back(), shard.config().fetch_bytes_max);
}

TEST(SlowLinkTest, WhatAPeerIsAskedForOutlivesTheSession) {
  ShardHarness shard;
  shard.Follow({kA});
  SentRequest first = shard.AwaitFetch(Key(2));
  const size_t asked = first.As<FetchBatch>()->max_bytes;
  shard.Fail(&first);
  SentRequest second = shard.AwaitFetch(Key(2));
  EXPECT_GT(second.As<FetchBatch>()->session->session_id,
            first.As<FetchBatch>()->session->session_id);
  EXPECT_EQ(second.As<FetchBatch>()->max_bytes, asked / 2);
}

// A leader that went away and is back is asked for little at first, and soon for the most.
TEST(SlowLinkTest, ALeaderThatIsBackIsSoonAskedForTheMost) {
  ShardHarness shard;
  shard.Follow({kA});
  for (int i = 0; i < 20; ++i) {
    SentRequest fetch = shard.AwaitFetch(Key(2));
    shard.Fail(&fetch);
    (void)shard.Request(2, BeginBatch{{BeginEntry{kA, Epoch(1)}}});
    shard.Sync();
  }
  SlowLink link(&shard, 4'000, 1'000'000);
  EXPECT_TRUE(link.CatchUp(Ms(10'000)));
  EXPECT_EQ(link.asked().front(), 16u << 10);
  const auto most =
      std::find(link.asked().begin(), link.asked().end(), shard.config().fetch_bytes_max);
  ASSERT_NE(most, link.asked().end());
  EXPECT_LE(most - link.asked().begin(), 10);
  EXPECT_EQ(link.failures(), 0);
}

// What the follower asks for holds for records that the leader has to read from its disk, too.
TEST(SlowLinkTest, ALeaderReadsNoMoreFromItsDiskThanItIsAskedFor) {
  ShardConfig config;
  config.cache_bytes_max = 0;
  ShardHarness shard(1, config);
  shard.Lead(kA, VotersOf(3));
  for (int i = 0; i < 20; ++i) (void)shard.Append(kA, DraftOf(1, 8'000));
  shard.Sync();
  FetchBatch fetch;
  fetch.session = SessionRequestPlace{1, 1, 0, 1};
  fetch.max_wait = Ms(500);
  fetch.max_bytes = 20'000;
  fetch.entries = {FetchAt(kA, 1, 2, 1)};
  const auto response = shard.Request(2, fetch);
  shard.Read();
  ASSERT_TRUE(response->has_value());
  EXPECT_THAT(FetchedOf(**response, kA)->batches, SizeIs(2));
}

}  // namespace
}  // namespace quorum::shard

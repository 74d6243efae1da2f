// Bad input of peers: Fetch and its sessions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/peer_stage.h"

namespace quorum::integration {
namespace {

using Observer = v1::ObserverService::Stub;

TEST_P(PeerCallTest, IsAnsweredAndChangesNothing) { Check(GetParam()); }

using FetchChange = std::function<void(v1::FetchRequest&, v1::FetchRequest::Partition&, int64_t)>;

PeerCall OfFetch(const std::string& name, const FetchChange& change, const std::string& answer) {
  const auto call = [change](Stage& stage, int64_t epoch) {
    v1::FetchRequest request;
    *request.mutable_envelope() = stage.Envelope();
    request.set_max_bytes(1 << 20);
    v1::FetchRequest::Partition* entry = CatalogEntry(&request);
    entry->set_current_leader_epoch(epoch);
    change(request, *entry, epoch);
    v1::FetchResponse response;
    const grpc::Status status = Call(*stage.stubs().observer, &Observer::Fetch, request, &response);
    if (status.ok() && response.session().error() != v1::ERROR_CODE_NONE) {
      return absl::StrCat("session ", NameOf(response.session().error()));
    }
    return Word(status, response);
  };
  return PeerCall{absl::StrCat("Fetch: ", name), call, answer};
}

std::vector<PeerCall> Fetches() {
  const auto offset_of = [](const std::string& name, int64_t offset, const std::string& answer) {
    return OfFetch(
        name, [offset](auto&, auto& p, int64_t) { p.set_fetch_offset(offset); }, answer);
  };
  const auto epoch_of = [](const std::string& name, const std::function<int64_t(int64_t)>& epoch,
                           const std::string& answer) {
    return OfFetch(
        name, [epoch](auto&, auto& p, int64_t mine) { p.set_current_leader_epoch(epoch(mine)); },
        answer);
  };
  const std::string invalid = "INVALID_REQUEST";
  const std::string whole = "\"INVALID_REQUEST\"";
  return {
      offset_of("offset -1", -1, invalid),
      offset_of("offset -2^63", kLowest, invalid),
      offset_of("offset 2^62", kLimit, invalid),
      offset_of("offset 2^63 - 1", kHighest, invalid),
      epoch_of(
          "epoch -1", [](int64_t) { return -1; }, invalid),
      epoch_of(
          "epoch 2^62", [](int64_t) { return kLimit; }, invalid),
      epoch_of(
          "epoch mine + 2^32 + 1", [](int64_t mine) { return mine + kEpochJump + 1; }, invalid),
      epoch_of(
          "epoch mine - 1", [](int64_t mine) { return mine - 1; }, "FENCED_LEADER_EPOCH"),
      epoch_of(
          "epoch mine + 1", [](int64_t mine) { return mine + 1; }, "UNKNOWN_LEADER_EPOCH"),
      OfFetch(
          "last epoch above the sender's",
          [](auto&, auto& p, int64_t mine) {
            p.set_fetch_offset(1);
            p.set_last_fetched_epoch(mine + 1);
          },
          invalid),
      OfFetch(
          "last epoch -1", [](auto&, auto& p, int64_t) { p.set_last_fetched_epoch(-1); }, invalid),
      OfFetch(
          "high watermark -1", [](auto&, auto& p, int64_t) { p.set_high_watermark(-1); }, invalid),
      OfFetch(
          "high watermark 2^62", [](auto&, auto& p, int64_t) { p.set_high_watermark(kLimit); },
          invalid),
      OfFetch(
          "max wait -1", [](auto& r, auto&, int64_t) { r.set_max_wait_ms(-1); }, whole),
      OfFetch(
          "max wait -2^31", [](auto& r, auto&, int64_t) { r.set_max_wait_ms(INT32_MIN); }, whole),
      OfFetch(
          "max bytes -1", [](auto& r, auto&, int64_t) { r.set_max_bytes(-1); }, whole),
      OfFetch(
          "max bytes 2^31 - 1", [](auto& r, auto&, int64_t) { r.set_max_bytes(INT32_MAX); },
          "NONE"),
      OfFetch(
          "max bytes 0", [](auto& r, auto&, int64_t) { r.set_max_bytes(0); }, "NONE"),
      OfFetch(
          "unknown topic", [](auto& r, auto&, int64_t) { r.mutable_topics(0)->set_topic_id(99); },
          "UNKNOWN_TOPIC_OR_PARTITION"),
      OfFetch(
          "a partition twice",
          [](auto& r, auto&, int64_t) { *r.add_topics() = v1::FetchRequest::Topic(r.topics(0)); },
          invalid),
  };
}

std::vector<PeerCall> Sessions() {
  const auto with = [](const std::string& name,
                       const std::function<void(v1::FetchRequest::Session&)>& change,
                       const std::string& answer) {
    return OfFetch(
        name,
        [change](auto& r, auto&, int64_t) {
          v1::FetchRequest::Session* session = r.mutable_session();
          session->set_session_id(1);
          session->set_request_number(1);
          session->set_lane_count(1);
          change(*session);
        },
        answer);
  };
  return {
      with(
          "session 0", [](auto& s) { s.set_session_id(0); }, "session INVALID_REQUEST"),
      with(
          "request 0 of a session", [](auto& s) { s.set_request_number(0); },
          "session FETCH_SESSION_ID_NOT_FOUND"),
      with(
          "request 7 of a session that never began", [](auto& s) { s.set_request_number(7); },
          "session FETCH_SESSION_ID_NOT_FOUND"),
      with(
          "an answer that was never sent", [](auto& s) { s.set_newest_answer_seen(1); },
          "session INVALID_FETCH_SESSION_EPOCH"),
      with(
          "another lane count", [](auto& s) { s.set_lane_count(16); },
          "session INCONSISTENT_LANE_COUNT"),
  };
}

INSTANTIATE_TEST_SUITE_P(Fetches, PeerCallTest, testing::ValuesIn(Fetches()));
INSTANTIATE_TEST_SUITE_P(Sessions, PeerCallTest, testing::ValuesIn(Sessions()));

// --- What is taken ---

TEST_F(PeerTest, ClaimBeyondTheLogIsAnsweredWithTheEndOfTheLog) {
  Standing standing;
  ASSERT_TRUE(stage().AwaitLeading(&standing));
  v1::FetchRequest request;
  request.set_max_bytes(1 << 20);
  v1::FetchRequest::Partition* entry = CatalogEntry(&request);
  entry->set_current_leader_epoch(standing.epoch);
  entry->set_last_fetched_epoch(standing.epoch);
  entry->set_fetch_offset(kLimit - 1);
  v1::FetchResponse response;
  const grpc::Status status = Call(*stage().stubs().observer, &Observer::Fetch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  const auto& answer = response.topics(0).partitions(0);
  ASSERT_TRUE(answer.has_diverging_epoch()) << answer.ShortDebugString();
  EXPECT_EQ(answer.diverging_epoch().epoch(), standing.epoch);
  EXPECT_GT(answer.diverging_epoch().end_offset(), 0);
  EXPECT_EQ(answer.records_size(), 0);
}

TEST_F(PeerTest, LongestWaitIsCapped) {
  Standing standing;
  ASSERT_TRUE(stage().AwaitLeading(&standing));
  v1::FetchRequest request;
  request.set_max_bytes(1 << 20);
  request.set_max_wait_ms(INT32_MAX);
  v1::FetchRequest::Partition* entry = CatalogEntry(&request);
  entry->set_current_leader_epoch(standing.epoch);
  entry->set_last_fetched_epoch(standing.epoch);
  // The end of the log, as the leader tells it: nothing to say.
  entry->set_fetch_offset(kLimit - 1);
  v1::FetchResponse diverging;
  ASSERT_TRUE(Call(*stage().stubs().observer, &Observer::Fetch, request, &diverging).ok());
  entry->set_fetch_offset(diverging.topics(0).partitions(0).diverging_epoch().end_offset());
  v1::FetchResponse response;
  const grpc::Status status = Call(*stage().stubs().observer, &Observer::Fetch, request, &response);
  ASSERT_TRUE(status.ok()) << FailureOf(status);
  EXPECT_EQ(response.topics(0).partitions(0).error(), v1::ERROR_CODE_NONE);
}

}  // namespace
}  // namespace quorum::integration

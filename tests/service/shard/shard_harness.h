// ShardHarness: one Shard on a simulated disk, with a clock that the test moves and a net that only
// collects. Scripts read like this:
//
//   ShardHarness shard;                        // Node 1.
//   shard.Birth(Id(7), VotersOf(3));           // One of three voters of a new partition.
//   shard.Sync();                              // The disk syncs what it was given.
//   shard.Advance(Ms(3000));                   // Its election timer fires.
//   VoteBatch votes = shard.SentOf<VoteBatch>().at(0)...
//
// Run() runs rounds until nothing is due. The disk syncs only in Sync and reads only in Read, so
// that what a gate holds back can be seen.
//
// Thread: the test's.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/base/voter_set.h"
#include "service/raft/replica.h"
#include "service/shard/client_calls.h"
#include "service/shard/peer_messages.h"
#include "service/shard/peer_transport.h"
#include "service/shard/shard.h"
#include "service/shard/shard_config.h"
#include "storage/api/log_reader.h"
#include "storage/memory/memory_disk.h"
#include "tests/service/shard/shard_fixtures.h"

namespace quorum::shard {

// A request that has left the shard.
struct SentRequest {
  LaneRequest request;
  Duration timeout;
  PeerDone done;

  const ReplicaKey& to() const { return request.envelope.to.key; }
  template <typename Body>
  const Body* As() const {
    return std::get_if<Body>(&request.body);
  }
};

// What is awaited; empty until it comes.
template <typename Value>
using Awaited = std::shared_ptr<std::optional<Value>>;

class ShardHarness : public PeerTransport, public ShardObserver, public storage::LogReader {
 public:
  explicit ShardHarness(int32_t node = 1, ShardConfig config = {});
  ~ShardHarness() override;

  static ShardConfig OneLane();

  // --- time, rounds, disk
  void Run();
  void Advance(Duration by, Duration step = Ms(10));
  // Syncs everything that was submitted, and runs what that releases.
  void Sync();
  // Answers every read.
  void Read();
  // Fails the reads to come with `status`; OK ends that.
  void FailReads(absl::Status status) { read_failure_ = std::move(status); }
  // kill -9 and a new process life on what the crash left.
  void Restart(const storage::CrashOutcome& outcome = {});

  // --- the shard's own requests
  void Send(LaneRequest request, Duration timeout, PeerDone done) override;
  // All that have left since the last call of Forget, oldest first.
  std::vector<SentRequest>& sent() { return sent_; }
  template <typename Body>
  std::vector<SentRequest*> SentOf(std::optional<ReplicaKey> to = std::nullopt) {
    std::vector<SentRequest*> found;
    for (SentRequest& request : sent_) {
      if (request.As<Body>() == nullptr) continue;
      if (!to.has_value() || request.to() == *to) found.push_back(&request);
    }
    return found;
  }
  void Forget() { sent_.clear(); }
  // Answers a request as the node that it was sent to, in its process life 1.
  void Answer(SentRequest* request, LaneResponseBody body);
  void Fail(SentRequest* request);
  // The next Fetch at `peer`; nobody else that is asked meanwhile answers.
  SentRequest AwaitFetch(const ReplicaKey& peer);
  // Grants all votes and pre-votes that have left, and runs on.
  void GrantVotes(bool pre_votes_too = true);

  // --- the shard's reads
  void Read(const storage::ReadRequest& request,
            std::function<void(storage::ReadResult)> done) override;

  // --- peers' requests
  Envelope From(int32_t node, uint64_t incarnation = 1) const;
  Awaited<LaneResponse> Request(LaneRequest request);
  Awaited<LaneResponse> Request(int32_t from, LaneRequestBody body);
  Awaited<LaneResponse> Fetch(int32_t from, uint64_t session, uint64_t number,
                              std::vector<FetchEntry> entries);

  // --- calls
  Awaited<bool> Birth(PartitionId partition, const VoterSet& voters,
                      std::optional<size_t> position = std::nullopt);
  Awaited<std::optional<ElectionState>> Bury(PartitionId partition);
  Awaited<AppendResult> Append(PartitionId partition, BatchDraft draft = DraftOf(),
                               MonoTime deadline = kNever,
                               std::optional<Epoch> leader_epoch = std::nullopt);
  Awaited<ReadResult> ReadFrom(PartitionId partition, int64_t from, MonoTime deadline,
                               std::optional<int64_t> seen_high_watermark = std::nullopt,
                               std::optional<int64_t> seen_epoch = std::nullopt,
                               size_t max_bytes = 1 << 20);
  Awaited<PartitionDescription> Describe(PartitionId partition);
  void Call(ShardCall call);

  // Makes this replica lead `partition` among `voters`, with all its writes synced and its epoch's
  // record committed by node 2 where there is one.
  void Lead(PartitionId partition, const VoterSet& voters);

  // Makes this replica a follower of node 2 in epoch 1, among three voters, for blank partitions.
  // Their first Fetch is the only request in sent().
  void Follow(const std::vector<PartitionId>& partitions);

  const raft::Replica& Replica(PartitionId partition) const;
  Shard& shard() { return *shard_; }
  storage::MemoryDisk& disk() { return disk_; }
  const ManualClock& clock() const { return clock_; }
  void MoveWall(int64_t by_ms) { clock_.MoveWall(by_ms); }
  MonoTime now() const { return clock_.Now(); }
  const ShardConfig& config() const { return config_; }
  const storage::RecoveredStore& recovered() const { return recovered_; }

  // --- what the observer has seen
  void OnVoteLeaves(PartitionId, Epoch, const ReplicaKey&) override { ++votes_left_; }
  void OnMessageLeaves(PartitionId) override { ++messages_left_; }
  void OnRefusal(raft::RaftError error) override { refusals_.push_back(error); }
  const std::vector<raft::RaftError>& refusals() const { return refusals_; }
  void OnAppendJudged(AppendRefusal refusal) override { judged_.push_back(refusal); }
  const std::vector<AppendRefusal>& judged() const { return judged_; }
  void OnDamagedFetch(PartitionId, const ReplicaKey&) override { ++damaged_fetches_; }
  int damaged_fetches() const { return damaged_fetches_; }
  int votes_left() const { return votes_left_; }
  int messages_left() const { return messages_left_; }

 private:
  void Start();

  ManualClock clock_;
  storage::MemoryDisk disk_{&clock_};
  ShardConfig config_;
  storage::RecoveredStore recovered_;
  std::unique_ptr<Shard> shard_;
  std::vector<SentRequest> sent_;
  MonoTime next_round_ = At(0);
  absl::Status read_failure_;
  std::vector<raft::RaftError> refusals_;
  std::vector<AppendRefusal> judged_;
  int damaged_fetches_ = 0;
  int votes_left_ = 0;
  int messages_left_ = 0;
};

// Entries of requests.
FetchEntry FetchAt(PartitionId partition, int64_t epoch, int64_t offset, int64_t last_epoch,
                   std::optional<int64_t> known_high_watermark = 0);
FetchEntry WithdrawalOf(PartitionId partition);
VoteEntry VoteFor(PartitionId partition, int64_t epoch, int64_t end = 0, int64_t last_epoch = 0,
                  bool pre_vote = false);

// The answer to a session request of this shard.
FetchAnswer SessionAnswer(const SentRequest& request, uint64_t answer_number,
                          std::vector<FetchAnswerEntry> entries);
// What a leader of `epoch` says.
FetchAnswerEntry Fetched(PartitionId partition, int32_t leader, int64_t epoch,
                         std::vector<RecordBatch> batches = {},
                         std::optional<int64_t> high_watermark = std::nullopt);

// What an answer says of a partition; null when it does not name it.
const HeaderEntry* HeaderOf(const LaneResponse& response, PartitionId partition);
const FetchAnswerEntry* FetchedOf(const LaneResponse& response, PartitionId partition);

}  // namespace quorum::shard

#include "tests/service/shard/shard_harness.h"

#include <algorithm>

#include "service/base/check.h"

namespace quorum::shard {
namespace {

// More rounds than this without the clock moving is a loop that never ends.
constexpr int kRoundsMax = 1000;

storage::FormatPlan PlanOf(const ShardConfig& config) {
  storage::FormatPlan plan;
  plan.identity.cluster_id = config.cluster_id;
  plan.identity.node = config.self.id;
  plan.identity.directory = config.self.directory;
  plan.identity.lanes = config.lane_count;
  return plan;
}

}  // namespace

ShardConfig ShardHarness::OneLane() {
  ShardConfig config;
  config.lane_count = 1;
  return config;
}

ShardHarness::ShardHarness(int32_t node, ShardConfig config) : config_(std::move(config)) {
  config_.cluster_id = kCluster;
  config_.self = Key(node);
  config_.lane_count = 1;
  config_.seed = static_cast<uint64_t>(node);
  CHECK(!disk_.Format(PlanOf(config_)).has_value());
  Start();
}

ShardHarness::~ShardHarness() = default;

void ShardHarness::Start() {
  CHECK(!disk_.Recover({config_.cluster_id, config_.self.id}, &recovered_).has_value());
  config_.incarnation = recovered_.node.incarnation;
  shard_ = std::make_unique<Shard>(config_, ShardSeams{clock_, disk_, *this, *this, *this}, [] {});
  shard_->Open(recovered_.replicas);
}

void ShardHarness::Restart(const storage::CrashOutcome& outcome) {
  sent_.clear();
  disk_.Crash(outcome);
  shard_.reset();
  Start();
}

void ShardHarness::Run() {
  int rounds = 0;
  do {
    next_round_ = shard_->RunOnce();
    CHECK_LT(++rounds, kRoundsMax) << "the shard never sleeps";
  } while (next_round_ <= clock_.Now());
}

void ShardHarness::Advance(Duration by, Duration step) {
  const MonoTime end = clock_.Now() + by;
  while (clock_.Now() < end) {
    clock_.Advance(std::min(step, Duration(end - clock_.Now())));
    Run();
  }
}

void ShardHarness::Sync() {
  Run();
  while (disk_.HasPending()) {
    disk_.CompleteWrites(disk_.PendingWriteSets());
    Run();
  }
}

void ShardHarness::Read() {
  Run();
  while (disk_.HasPendingReads()) {
    disk_.CompleteReads(SIZE_MAX);
    Run();
  }
}

void ShardHarness::Read(const storage::ReadRequest& request,
                        std::function<void(storage::ReadResult)> done) {
  if (read_failure_.ok()) {
    disk_.Read(request, std::move(done));
  } else {
    done(read_failure_);
  }
}

void ShardHarness::Send(LaneRequest request, Duration timeout, PeerDone done) {
  sent_.push_back(SentRequest{std::move(request), timeout, std::move(done)});
}

void ShardHarness::Answer(SentRequest* request, LaneResponseBody body) {
  std::exchange(request->done, nullptr)(
      LaneResponse{PeerIdentity{request->to(), Incarnation(1)}, std::move(body)});
  Run();
}

void ShardHarness::Fail(SentRequest* request) {
  std::exchange(request->done, nullptr)(std::nullopt);
  Run();
}

SentRequest ShardHarness::AwaitFetch(const ReplicaKey& peer) {
  for (int i = 0; i < 1'000; ++i) {
    std::optional<SentRequest> found;
    for (SentRequest& request : std::exchange(sent_, {})) {
      if (request.As<FetchBatch>() != nullptr && request.to() == peer) {
        found = std::move(request);
      } else {
        Fail(&request);
      }
    }
    if (found.has_value()) return *std::move(found);
    Advance(Ms(10));
  }
  CHECK(false) << peer << " is asked no more";
  return {};
}

void ShardHarness::GrantVotes(bool pre_votes_too) {
  std::vector<SentRequest> requests = std::exchange(sent_, {});
  for (SentRequest& request : requests) {
    const VoteBatch* votes = request.As<VoteBatch>();
    if (votes == nullptr || request.done == nullptr) continue;
    HeaderAnswer answer;
    for (const VoteEntry& vote : votes->entries) {
      HeaderEntry entry;
      entry.partition = vote.partition;
      entry.header.epoch = vote.epoch;
      entry.granted = pre_votes_too || !vote.pre_vote;
      answer.entries.push_back(std::move(entry));
    }
    Answer(&request, std::move(answer));
  }
}

Envelope ShardHarness::From(int32_t node, uint64_t incarnation) const {
  return Envelope{config_.cluster_id, PeerIdentity{Key(node), Incarnation(incarnation)},
                  PeerIdentity{config_.self, std::nullopt}, Lane(0)};
}

Awaited<LaneResponse> ShardHarness::Request(LaneRequest request) {
  auto answer = std::make_shared<std::optional<LaneResponse>>();
  CHECK(shard_->Post(std::move(request), [answer](LaneResponse response) {
    CHECK(!answer->has_value()) << "answered twice";
    *answer = std::move(response);
  }));
  Run();
  return answer;
}

Awaited<LaneResponse> ShardHarness::Request(int32_t from, LaneRequestBody body) {
  return Request(LaneRequest{From(from), std::move(body)});
}

Awaited<LaneResponse> ShardHarness::Fetch(int32_t from, uint64_t session, uint64_t number,
                                          std::vector<FetchEntry> entries) {
  FetchBatch batch;
  batch.session = SessionRequestPlace{session, number, 0, config_.lane_count};
  batch.max_wait = Ms(500);
  batch.max_bytes = 1 << 20;
  batch.entries = std::move(entries);
  return Request(from, std::move(batch));
}

void ShardHarness::Call(ShardCall call) {
  CHECK(shard_->Post(std::move(call)));
  Run();
}

Awaited<bool> ShardHarness::Birth(PartitionId partition, const VoterSet& voters,
                                  std::optional<size_t> position) {
  auto done = std::make_shared<std::optional<bool>>();
  BirthCall call;
  call.partition = partition;
  if (!voters.empty()) call.initial_voters = voters;
  call.position = position;
  call.done = [done] { *done = true; };
  Call(std::move(call));
  return done;
}

Awaited<std::optional<ElectionState>> ShardHarness::Bury(PartitionId partition) {
  auto done = std::make_shared<std::optional<std::optional<ElectionState>>>();
  BuryCall call;
  call.partition = partition;
  call.done = [done](const std::optional<ElectionState>& election) { done->emplace(election); };
  Call(std::move(call));
  return done;
}

Awaited<AppendResult> ShardHarness::Append(PartitionId partition, BatchDraft draft,
                                           MonoTime deadline, std::optional<Epoch> leader_epoch) {
  auto done = std::make_shared<std::optional<AppendResult>>();
  AppendCall call;
  call.partition = partition;
  call.draft = std::move(draft);
  call.deadline = deadline;
  call.leader_epoch = leader_epoch;
  call.done = [done](AppendResult result) {
    CHECK(!done->has_value()) << "answered twice";
    *done = result;
  };
  Call(std::move(call));
  return done;
}

Awaited<ReadResult> ShardHarness::ReadFrom(PartitionId partition, int64_t from, MonoTime deadline,
                                           std::optional<int64_t> seen_high_watermark,
                                           std::optional<int64_t> seen_epoch, size_t max_bytes) {
  auto done = std::make_shared<std::optional<ReadResult>>();
  ReadCall call;
  call.partition = partition;
  call.from = Offset(from);
  call.max_bytes = max_bytes;
  call.deadline = deadline;
  if (seen_high_watermark.has_value()) call.seen_high_watermark = Offset(*seen_high_watermark);
  if (seen_epoch.has_value()) call.seen_epoch = Epoch(*seen_epoch);
  call.done = [done](ReadResult result) {
    CHECK(!done->has_value()) << "answered twice";
    *done = std::move(result);
  };
  Call(std::move(call));
  return done;
}

Awaited<PartitionDescription> ShardHarness::Describe(PartitionId partition) {
  auto done = std::make_shared<std::optional<PartitionDescription>>();
  DescribeCall call;
  call.partition = partition;
  call.done = [done](PartitionDescription description) { *done = std::move(description); };
  Call(std::move(call));
  return done;
}

void ShardHarness::Lead(PartitionId partition, const VoterSet& voters) {
  (void)Birth(partition, voters, 0);
  Sync();
  for (int i = 0; i < 10 && Replica(partition).role() != raft::RoleKind::kLeader; ++i) {
    Advance(Ms(10));
    GrantVotes();
    Sync();
  }
  CHECK(Replica(partition).role() == raft::RoleKind::kLeader);
  if (voters.size() == 1) return;
  FetchBatch batch;
  batch.max_bytes = 1 << 20;
  const raft::Replica& replica = Replica(partition);
  batch.entries = {FetchAt(partition, replica.election().epoch.value(), replica.log().end().value(),
                           replica.election().epoch.value())};
  (void)Request(2, std::move(batch));
  CHECK(Replica(partition).is_ready_leader());
  Sync();
  Forget();
}

void ShardHarness::Follow(const std::vector<PartitionId>& partitions) {
  BeginBatch begin;
  for (const PartitionId& id : partitions) {
    (void)Birth(id, VotersOf(3));
    begin.entries.push_back(BeginEntry{id, Epoch(1)});
  }
  Sync();
  // They look for a leader wherever one might be.
  std::vector<SentRequest> searches = std::exchange(sent_, {});
  for (SentRequest& search : searches) Fail(&search);
  (void)Request(2, begin);
  Sync();
  CHECK_EQ(sent_.size(), 1u);
  CHECK(sent_[0].to() == Key(2));
  CHECK_EQ(sent_[0].As<FetchBatch>()->entries.size(), partitions.size());
}

const raft::Replica& ShardHarness::Replica(PartitionId partition) const {
  const raft::Replica* replica = shard_->Find(partition);
  CHECK(replica != nullptr);
  return *replica;
}

FetchEntry FetchAt(PartitionId partition, int64_t epoch, int64_t offset, int64_t last_epoch,
                   std::optional<int64_t> known_high_watermark) {
  FetchEntry entry;
  entry.partition = partition;
  entry.current_leader_epoch = Epoch(epoch);
  entry.fetch_offset = Offset(offset);
  entry.last_fetched_epoch = Epoch(last_epoch);
  if (known_high_watermark.has_value()) {
    entry.known_high_watermark = raft::KnownHighWatermark::kKnown;
    entry.high_watermark = Offset(*known_high_watermark);
  }
  return entry;
}

FetchEntry WithdrawalOf(PartitionId partition) {
  FetchEntry entry;
  entry.partition = partition;
  entry.withdraw = true;
  return entry;
}

VoteEntry VoteFor(PartitionId partition, int64_t epoch, int64_t end, int64_t last_epoch,
                  bool pre_vote) {
  return VoteEntry{partition, Epoch(epoch), OffsetAndEpoch{Offset(end), Epoch(last_epoch)},
                   pre_vote};
}

FetchAnswer SessionAnswer(const SentRequest& request, uint64_t answer_number,
                          std::vector<FetchAnswerEntry> entries) {
  const SessionRequestPlace& place = *request.As<FetchBatch>()->session;
  FetchAnswer answer;
  answer.session = SessionAnswerPlace{place.session_id, answer_number, place.request_number,
                                      SessionError::kNone};
  answer.entries = std::move(entries);
  return answer;
}

FetchAnswerEntry Fetched(PartitionId partition, int32_t leader, int64_t epoch,
                         std::vector<RecordBatch> batches, std::optional<int64_t> high_watermark) {
  FetchAnswerEntry entry;
  entry.partition = partition;
  entry.header.epoch = Epoch(epoch);
  entry.header.leader = Key(leader);
  entry.batches = std::move(batches);
  if (high_watermark.has_value()) entry.high_watermark = Offset(*high_watermark);
  return entry;
}

const HeaderEntry* HeaderOf(const LaneResponse& response, PartitionId partition) {
  const auto* answer = std::get_if<HeaderAnswer>(&response.body);
  if (answer == nullptr) return nullptr;
  for (const HeaderEntry& entry : answer->entries) {
    if (entry.partition == partition) return &entry;
  }
  return nullptr;
}

const FetchAnswerEntry* FetchedOf(const LaneResponse& response, PartitionId partition) {
  const auto* answer = std::get_if<FetchAnswer>(&response.body);
  if (answer == nullptr) return nullptr;
  for (const FetchAnswerEntry& entry : answer->entries) {
    if (entry.partition == partition) return &entry;
  }
  return nullptr;
}

}  // namespace quorum::shard

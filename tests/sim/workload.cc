#include "tests/sim/workload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/base/record_codec.h"

namespace quorum::sim {
namespace {

// A probe is no client's append.
constexpr int kProbe = -1;
// Partitions that are read on one node at a time.
constexpr size_t kReadersPerNode = 3;
// How often a client asks for a partition that is deleted.
constexpr uint64_t kDeletedPpm = 30'000;

BatchDraft MakeDraft(uint64_t attempt, int records, size_t size, int64_t now_ms) {
  RecordsBuilder builder;
  for (int i = 0; i < records; ++i) {
    RecordFields record;
    record.value = EncodePayload(attempt, size);
    builder.Add(record);
  }
  return builder.Finish(now_ms);
}

}  // namespace

Workload::Workload(World* world, const std::vector<std::unique_ptr<SimNode>>* nodes, Prng prng)
    : world_(*world), nodes_(*nodes), prng_(prng) {}

size_t Workload::calls_max() const {
  return static_cast<size_t>(world_.options.workload.clients) *
             static_cast<size_t>(world_.options.workload.pipeline) +
         static_cast<size_t>(world_.options.topics.partitions);
}

void Workload::Start() {
  for (int client = 0; client < world_.options.workload.clients; ++client) {
    for (int i = 0; i < world_.options.workload.pipeline; ++i) ThinkThenAppend(client);
  }
  for (const auto& node : nodes_) AddReaders(*node);
  DescribeSometimes();
}

std::optional<PartitionId> Workload::RandomPartition() {
  const bool gone = !world_.catalog.deleted().empty() && prng_.Chance(kDeletedPpm);
  const auto& partitions = gone ? world_.catalog.deleted() : world_.catalog.partitions();
  // `__metadata` comes first, and is not for clients to append to.
  const size_t skipped = gone ? 0 : 1;
  if (partitions.size() <= skipped) return std::nullopt;
  auto chosen = partitions.begin();
  std::advance(chosen, static_cast<int64_t>(skipped + prng_.Below(partitions.size() - skipped)));
  return chosen->first;
}

PartitionId Workload::PartitionToRead() {
  const auto& partitions = world_.catalog.partitions();
  auto chosen = partitions.begin();
  std::advance(chosen, static_cast<int64_t>(prng_.Below(partitions.size())));
  return chosen->first;
}

SimNode& Workload::ChooseNode(PartitionId partition) {
  const auto known = leaders_.find(partition);
  if (known != leaders_.end() && prng_.Chance(850'000)) {
    return *nodes_[static_cast<size_t>(known->second.value() - 1)];
  }
  return *nodes_[prng_.Below(nodes_.size())];
}

void Workload::ThinkThenAppend(int client) {
  const Duration think = prng_.Between(Duration::zero(), world_.options.workload.think_max);
  world_.queue.After(think, [this, client] {
    if (stopped_) return;
    const std::optional<PartitionId> partition = RandomPartition();
    if (!partition.has_value()) return ThinkThenAppend(client);
    SendAppend(client, *partition, ChooseNode(*partition));
  });
}

AppendConditions Workload::DrawConditions(PartitionId partition) {
  AppendConditions conditions;
  const AppendConditions& known = known_[partition];
  if (prng_.Chance(world_.options.workload.conditional_ppm)) {
    conditions.expected_offset = known.expected_offset.value_or(Offset(0));
  }
  if (prng_.Chance(world_.options.workload.fenced_ppm)) {
    conditions.leader_epoch = known.leader_epoch;
  }
  return conditions;
}

void Workload::SendAppend(int client, PartitionId partition, SimNode& node) {
  if (!node.up()) {
    leaders_.erase(partition);
    if (client != kProbe) ThinkThenAppend(client);
    return;
  }
  const WorkloadOptions& workload = world_.options.workload;
  const int records = static_cast<int>(prng_.Between(1, workload.records_max));
  const auto size = static_cast<size_t>(prng_.Between(8, workload.payload_bytes_max));
  const uint64_t attempt = ++last_attempt_;
  shard::AppendCall call;
  call.partition = partition;
  call.draft = MakeDraft(attempt, records, size, node.clock().WallTimeMs());
  if (!prng_.Chance(workload.no_deadline_ppm)) {
    call.deadline = node.clock().Now() + prng_.Between(Duration(1), workload.deadline_max);
  }
  AppendConditions conditions;
  if (client != kProbe) conditions = DrawConditions(partition);
  call.expected_offset = conditions.expected_offset;
  call.leader_epoch = conditions.leader_epoch;
  call.done = [this, attempt](const shard::AppendResult& result) { OnAppendDone(attempt, result); };
  world_.clients.OnAppendSent(attempt, partition, records, conditions);
  appends_.emplace(attempt, Append{client, node.id(), partition, records});
  if (node.Post(partition, std::move(call))) return;
  shard::AppendResult refused;
  refused.error = raft::RaftError::kThrottled;
  OnAppendDone(attempt, refused);
}

void Workload::OnAppendDone(uint64_t attempt, const shard::AppendResult& result) {
  world_.tracer.Mix(attempt << 2 | static_cast<uint64_t>(result.outcome));
  world_.clients.OnAppendDone(attempt, result);
  const auto found = appends_.find(attempt);
  if (found == appends_.end()) return;
  const Append append = found->second;
  appends_.erase(found);
  AppendConditions& known = known_[append.partition];
  if (result.outcome == shard::AppendResult::Outcome::kCommitted) {
    known = AppendConditions{result.base_offset + append.records, result.epoch};
  } else if (result.refusal == shard::AppendRefusal::kOffsetMismatch) {
    known.expected_offset = result.committed_end;
  }
  if (result.hint.leader.has_value()) {
    leaders_[append.partition] = result.hint.leader->id;
  } else {
    leaders_.erase(append.partition);
  }
  if (append.client != kProbe) ThinkThenAppend(append.client);
}

void Workload::Probe(PartitionId partition, SimNode& node) { SendAppend(kProbe, partition, node); }

void Workload::OnStopped(NodeId node) {
  std::vector<uint64_t> lost;
  for (const auto& [attempt, append] : appends_) {
    if (append.node == node) lost.push_back(attempt);
  }
  for (const uint64_t attempt : lost) {
    world_.clients.OnAppendLost(attempt);
    const Append append = appends_.at(attempt);
    appends_.erase(attempt);
    leaders_.erase(append.partition);
    if (append.client != kProbe) ThinkThenAppend(append.client);
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    Reader& reader = readers_[i];
    if (reader.node->id() != node || reader.asked == 0) continue;
    reader.asked = 0;
    --reading_;
    ReadAgain(i, world_.options.raft.election_timeout);
  }
}

void Workload::AddReaders(SimNode& node) {
  for (size_t i = 0; i < kReadersPerNode; ++i) {
    Reader reader;
    reader.node = &node;
    reader.partition = PartitionToRead();
    readers_.push_back(reader);
    ReadAgain(readers_.size() - 1, Duration::zero());
  }
}

void Workload::ReadAgain(size_t index, Duration delay) {
  world_.queue.After(delay, [this, index] {
    if (!stopped_) Read(index);
  });
}

void Workload::Read(size_t index) {
  Reader& reader = readers_[index];
  const Duration election = world_.options.raft.election_timeout;
  const uint64_t life = reader.node->life();
  shard::ReadCall call;
  call.partition = reader.partition;
  call.from = reader.next;
  call.max_bytes = world_.options.fetch_bytes_max;
  call.deadline = reader.node->clock().Now() + prng_.Between(Duration(1), 2 * election);
  call.seen_high_watermark = reader.seen_high_watermark;
  call.seen_epoch = reader.seen_epoch;
  call.done = [this, index, life, from = reader.next](const shard::ReadResult& result) {
    OnReadDone(index, life, from, result);
  };
  if (!reader.node->Post(reader.partition, std::move(call))) {
    ReadAgain(index, election);
    return;
  }
  reader.asked = life;
  ++reading_;
}

void Workload::OnReadDone(size_t index, uint64_t life, Offset from,
                          const shard::ReadResult& result) {
  Reader& reader = readers_[index];
  if (reader.asked != life) {
    world_.failure.Report("I14", ToText(reader.partition), " a read is answered twice");
    return;
  }
  reader.asked = 0;
  --reading_;
  const Duration election = world_.options.raft.election_timeout;
  if (result.error != raft::RaftError::kNone) {
    // What this node does not hold, or not any more, is left to others.
    SimNode* const node = reader.node;
    reader = Reader();
    reader.node = node;
    reader.partition = PartitionToRead();
    ReadAgain(index, election / 2);
    return;
  }
  if (result.below_log_start) {
    world_.failure.Report("I14", ToText(reader.partition), " node ", reader.node->id().value(),
                          " has forgotten the beginning of its log");
  }
  world_.clients.OnRead(reader.node->id(), reader.partition, from, result);
  reader.next = std::max(reader.next, result.next);
  reader.seen_high_watermark = result.exposed;
  reader.seen_epoch = result.hint.epoch;
  ReadAgain(index, prng_.Between(Duration::zero(), election / 4));
}

void Workload::DescribeSometimes() {
  world_.queue.After(world_.options.raft.election_timeout, [this] {
    if (stopped_) return;
    SimNode& node = *nodes_[prng_.Below(nodes_.size())];
    shard::DescribeCall call;
    call.partition = PartitionToRead();
    call.done = [this, id = node.id()](const shard::PartitionDescription& description) {
      world_.clients.OnDescribe(id, description);
    };
    (void)node.Post(call.partition, std::move(call));
    DescribeSometimes();
  });
}

}  // namespace quorum::sim

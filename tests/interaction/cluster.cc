#include "tests/interaction/cluster.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "tests/interaction/describe.h"

namespace quorum::interaction {
namespace {

Offset EndOf(const std::vector<raft::BatchSummary>& log) {
  return log.empty() ? Offset(0) : log.back().next_offset();
}

VoterSet FirstVoters(int count) {
  std::vector<Voter> voters;
  for (int32_t id = 1; id <= count; ++id) voters.push_back(Voter{Key(id), ""});
  return VoterSet(voters);
}

void Truncate(std::vector<raft::BatchSummary>& log, Offset end) {
  while (!log.empty() && log.back().base_offset >= end) log.pop_back();
  CHECK(EndOf(log) == end) << "a batch is cut in two";
}

raft::RecoveredState Recover(const ElectionState& election,
                             const std::vector<raft::BatchSummary>& log,
                             const std::optional<VoterSet>& founders, Offset bound) {
  raft::RecoveredState recovered;
  recovered.election = election;
  recovered.log_end = EndOf(log);
  recovered.voters = VoterSetHistory(founders);
  recovered.high_watermark_bound = bound;
  Epoch last(0);
  for (const raft::BatchSummary& batch : log) {
    if (batch.epoch != last) recovered.leader_epochs.emplace_back(batch.epoch, batch.base_offset);
    last = batch.epoch;
    if (batch.voters.has_value()) recovered.voters.Append(batch.last_offset, *batch.voters);
  }
  return recovered;
}

}  // namespace

ReplicaKey Key(int32_t id) {
  return ReplicaKey{NodeId(id), DirectoryId{0xd1, static_cast<uint64_t>(id)}};
}

Cluster::Cluster(const Options& options)
    : fetch_batches_(options.fetch_batches), quiet_(options.quiet) {
  BugsAreFatal().store(true);
  const VoterSet founders = FirstVoters(options.voters);
  Prng seeds(options.seed);
  for (int32_t id = 1; id <= options.voters + options.observers; ++id) {
    Node& node = nodes_[id];
    node.prng = seeds.Fork("node " + std::to_string(id));
    if (id <= options.voters) node.founders = founders;
    node.written.election.epoch = options.epoch;
    const auto log = options.logs.find(id);
    if (log != options.logs.end()) Preload(node, log->second);
    node.synced = node.written;
  }
  for (const auto& entry : nodes_) StartProcess(entry.first);
}

void Cluster::Preload(Node& node, const std::vector<std::pair<int64_t, int64_t>>& log) const {
  std::vector<raft::BatchSummary>& batches = node.written.log;
  const auto add = [&batches](Epoch epoch, int64_t count, const std::optional<VoterSet>& voters) {
    const Offset base = EndOf(batches);
    batches.push_back(raft::BatchSummary{base, base + (count - 1), epoch, voters});
  };
  for (const auto& [epoch, records] : log) {
    const bool first = batches.empty();
    const int64_t control = first ? 2 : 1;
    CHECK_GE(records, control) << "an epoch begins with its control records";
    add(Epoch(epoch), control, first ? node.founders : std::nullopt);
    if (records > control) add(Epoch(epoch), records - control, std::nullopt);
    node.written.election.epoch = std::max(node.written.election.epoch, Epoch(epoch));
  }
}

void Cluster::StartProcess(int32_t id) {
  Node& node = nodes_.at(id);
  ++node.life;
  // Whatever is read is synced again before anything leaves.
  node.synced = node.written;
  node.synced_write = node.step;
  node.replica.emplace(Key(id), config_,
                       Recover(node.written.election, node.written.log, node.founders,
                               node.written.high_watermark_bound));
  Step(id, nullptr, "starts");
  std::vector<ReplicaKey> peers;
  for (const auto& entry : nodes_) {
    if (entry.first != id && entry.second.founders.has_value()) peers.push_back(Key(entry.first));
  }
  if (node.founders.has_value()) return;
  const raft::Event event = raft::DiscoveryPeers{peers};
  Step(id, &event, "learns whom to ask");
}

void Cluster::Step(int32_t id, const raft::Event* event, const std::string& headline) {
  Node& node = nodes_.at(id);
  CHECK(node.replica.has_value()) << "node " << id << " does not run";
  Print(std::to_string(id) + " " + headline);
  std::vector<raft::Effect> effects;
  raft::StepContext context{NowOf(node), node.prng, ++node.step, effects};
  if (event == nullptr) {
    node.replica->Start(context);
  } else {
    node.replica->Step(*event, context);
  }
  // The gates look at all writes of the step, so these come first.
  for (const raft::Effect& effect : effects) WriteEffect(node, effect, event);
  for (const raft::Effect& effect : effects) Carry(id, effect, event);
  Check(id);
  OpenGates(id);
  if (!node.held) Sync(id);
}

bool Cluster::WriteEffect(Node& node, const raft::Effect& effect, const raft::Event* event) {
  std::vector<raft::BatchSummary>& log = node.written.log;
  if (const auto* election = std::get_if<raft::PersistElection>(&effect)) {
    node.written.election = election->election;
    node.election_write = node.step;
    return true;
  }
  if (const auto* client = std::get_if<raft::AppendClientBatch>(&effect)) {
    const int64_t count = std::get<raft::AppendRequested>(*event).record_count;
    const Offset base = client->base_offset;
    CHECK(base == EndOf(log));
    log.push_back(raft::BatchSummary{base, base + (count - 1), client->epoch, std::nullopt});
  } else if (const auto* control = std::get_if<raft::AppendControlBatch>(&effect)) {
    const auto count = static_cast<int64_t>(control->records.size());
    const Offset base = control->base_offset;
    CHECK(base == EndOf(log));
    raft::BatchSummary batch{base, base + (count - 1), control->epoch, std::nullopt};
    if (control->voters.has_value()) batch.voters = control->voters->second;
    log.push_back(batch);
  } else if (const auto* fetched = std::get_if<raft::AppendFetchedBatches>(&effect)) {
    const auto& response = std::get<raft::FetchResponded>(*event).response;
    const auto& batches = std::get<raft::FetchedBatches>(response.payload).batches;
    CHECK_LE(fetched->count, batches.size());
    log.insert(log.end(), batches.begin(), batches.begin() + static_cast<int64_t>(fetched->count));
  } else if (const auto* truncation = std::get_if<raft::TruncateTo>(&effect)) {
    Truncate(log, truncation->end);
  } else {
    return false;
  }
  // The bound rides with writes that happen anyway.
  node.written.high_watermark_bound = std::min(node.replica->committed(), EndOf(log));
  node.log_write = node.step;
  return true;
}

void Cluster::Carry(int32_t id, const raft::Effect& effect, const raft::Event*) {
  Node& node = nodes_.at(id);
  if (const auto* send = std::get_if<raft::Send>(&effect)) {
    Envelope envelope;
    envelope.from = id;
    envelope.to = send->to.id.value();
    std::visit([&envelope](const auto& message) { envelope.body = message; }, send->message);
    if (auto* fetch = std::get_if<raft::FetchRequest>(&envelope.body)) {
      fetch->replica_incarnation = Incarnation(static_cast<uint64_t>(node.life));
    }
    envelope.correlation = raft::Correlation{send->to, send->incarnation, send->number};
    envelope.asker_life = node.life;
    Emit(id, std::move(envelope), send->gate);
    return;
  }
  if (Answer(id, effect)) return;
  Print("  " + Describe(effect));
  if (const auto* timer = std::get_if<raft::ArmTimer>(&effect)) node.armed = timer->deadline;
  if (const auto* park = std::get_if<raft::ParkFetch>(&effect)) {
    node.parked[park->token] = NowOf(node) + config_.fetch_max_wait;
  }
}

raft::FetchResponse Cluster::ReadAnswer(const Node& node, const raft::ReplyFetch& reply) const {
  raft::FetchResponse response;
  response.header = reply.header;
  response.high_watermark = reply.high_watermark;
  if (const auto* diverging = std::get_if<raft::FetchedDivergence>(&reply.payload)) {
    response.payload = *diverging;
  }
  const auto* records = std::get_if<raft::ServeRecords>(&reply.payload);
  if (records == nullptr) return response;
  raft::FetchedBatches batches;
  for (const raft::BatchSummary& batch : node.written.log) {
    if (batch.base_offset < records->from || batch.next_offset() > records->end) continue;
    if (batches.batches.size() < fetch_batches_) batches.batches.push_back(batch);
  }
  CHECK(!batches.batches.empty() && batches.batches.front().base_offset == records->from);
  response.payload = std::move(batches);
  return response;
}

bool Cluster::Answer(int32_t id, const raft::Effect& effect) {
  Node& node = nodes_.at(id);
  raft::Token token = 0;
  Body body;
  if (const auto* vote = std::get_if<raft::ReplyVote>(&effect)) {
    token = vote->token;
    body = vote->response;
  } else if (const auto* begin = std::get_if<raft::ReplyBeginQuorumEpoch>(&effect)) {
    token = begin->token;
    body = begin->response;
  } else if (const auto* end = std::get_if<raft::ReplyEndQuorumEpoch>(&effect)) {
    token = end->token;
    body = end->response;
  } else if (const auto* fetch = std::get_if<raft::ReplyFetch>(&effect)) {
    token = fetch->token;
    body = ReadAnswer(node, *fetch);
  } else {
    return false;
  }
  const auto asked = node.tokens.find(token);
  CHECK(asked != node.tokens.end()) << "an answer that nobody waits for";
  Envelope envelope = asked->second;
  std::swap(envelope.from, envelope.to);
  envelope.body = std::move(body);
  node.tokens.erase(asked);
  node.parked.erase(token);
  Emit(id, std::move(envelope), raft::Gate::kQuorum);
  return true;
}

void Cluster::Emit(int32_t id, Envelope envelope, raft::Gate gate) {
  Node& node = nodes_.at(id);
  Gated gated;
  const bool request = envelope.correlation.peer == Key(envelope.to);
  gated.incarnation = request ? envelope.correlation.incarnation : node.replica->incarnation();
  gated.waits_for = node.election_write;
  if (gate == raft::Gate::kLog) gated.waits_for = std::max(gated.waits_for, node.log_write);
  std::string line = "  -> " + std::to_string(envelope.to) + " " + Describe(envelope.body);
  if (gated.waits_for > node.synced_write) {
    line += " [waits for write " + std::to_string(gated.waits_for) + "]";
  }
  Print(line);
  gated.envelope = std::move(envelope);
  node.gated.push_back(std::move(gated));
}

void Cluster::OpenGates(int32_t id) {
  Node& node = nodes_.at(id);
  std::deque<Gated> still;
  for (Gated& gated : node.gated) {
    if (gated.waits_for > node.synced_write) {
      still.push_back(std::move(gated));
    } else if (gated.incarnation != node.replica->incarnation()) {
      Print(std::to_string(id) + " drops -> " + std::to_string(gated.envelope.to) + " " +
            KindOf(gated.envelope.body) + ", for its role has moved on");
    } else {
      Leave(id, std::move(gated.envelope));
    }
  }
  node.gated = std::move(still);
}

void Cluster::Leave(int32_t id, Envelope envelope) {
  Node& node = nodes_.at(id);
  const bool request = envelope.correlation.peer == Key(envelope.to);
  if (request) {
    node.asked[envelope.correlation.number] =
        Asked{envelope, NowOf(node) + config_.request_timeout};
  }
  network_.push_back(std::move(envelope));
}

void Cluster::Sync(int32_t id) {
  Node& node = nodes_.at(id);
  const uint64_t newest = std::max(node.election_write, node.log_write);
  if (node.synced_write >= newest) return;
  node.synced_write = newest;
  node.synced = node.written;
  OpenGates(id);
  const raft::Event event = raft::WriteDurable{newest};
  Step(id, &event, "synced write " + std::to_string(newest));
}

void Cluster::SyncDisk(int32_t id) {
  nodes_.at(id).held = false;
  Sync(id);
}

void Cluster::DeliverOne(Envelope envelope, const std::set<std::pair<int32_t, int32_t>>& drops) {
  const std::pair<int32_t, int32_t> link{envelope.from, envelope.to};
  const std::string arrow =
      std::to_string(envelope.to) + " <- " + std::to_string(envelope.from) + " ";
  if (cuts_.count(link) != 0 || drops.count(link) != 0) {
    Print(arrow + KindOf(envelope.body) + " is lost");
    return;
  }
  if (IsRunning(envelope.to)) {
    Receive(envelope);
    return;
  }
  Print(arrow + KindOf(envelope.body) + " finds nobody");
  if (envelope.correlation.peer != Key(envelope.to)) return;
  std::swap(envelope.from, envelope.to);
  envelope.body = Broken{};
  network_.push_back(std::move(envelope));
}

void Cluster::Receive(const Envelope& envelope) {
  Node& node = nodes_.at(envelope.to);
  const std::string headline = "<- " + std::to_string(envelope.from) + " " + KindOf(envelope.body);
  const auto request = [&](const auto& message) {
    const raft::Token token = ++last_token_;
    node.tokens[token] = envelope;
    const raft::Event event = raft::Requested<std::decay_t<decltype(message)>>{token, message};
    Step(envelope.to, &event, headline);
  };
  const auto answer = [&](const raft::Event& event) {
    const bool waits =
        envelope.asker_life == node.life && node.asked.erase(envelope.correlation.number) != 0;
    if (waits) Step(envelope.to, &event, headline);
  };
  std::visit(Overloaded{
                 [&](const raft::VoteRequest& message) { request(message); },
                 [&](const raft::BeginQuorumEpochRequest& message) { request(message); },
                 [&](const raft::EndQuorumEpochRequest& message) { request(message); },
                 [&](const raft::FetchRequest& message) { request(message); },
                 [&](const raft::VoteResponse& response) {
                   answer(raft::VoteResponded{envelope.correlation, response});
                 },
                 [&](const raft::BeginQuorumEpochResponse& response) {
                   answer(raft::BeginQuorumEpochResponded{envelope.correlation, response});
                 },
                 [&](const raft::EndQuorumEpochResponse& response) {
                   answer(raft::EndQuorumEpochResponded{envelope.correlation, response});
                 },
                 [&](const raft::FetchResponse& response) {
                   answer(raft::FetchResponded{envelope.correlation, response});
                 },
                 [&](const Broken&) { answer(raft::PeerFailed{envelope.correlation}); },
             },
             envelope.body);
}

}  // namespace quorum::interaction

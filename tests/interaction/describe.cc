#include "tests/interaction/describe.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <variant>
#include <vector>

#include "service/base/overloaded.h"
#include "service/raft/errors.h"

namespace quorum::interaction {
namespace {

std::string Text(const std::optional<ReplicaKey>& key) {
  return key.has_value() ? std::to_string(key->id.value()) : "-";
}

std::string Text(const std::optional<Offset>& offset) {
  return offset.has_value() ? std::to_string(offset->value()) : "-";
}

std::string Text(const OffsetAndEpoch& point) {
  return std::to_string(point.offset.value()) + "@" + std::to_string(point.epoch.value());
}

std::string Text(const std::vector<ReplicaKey>& keys) {
  if (keys.empty()) return "-";
  std::string text;
  for (const ReplicaKey& key : keys) {
    if (!text.empty()) text += ",";
    text += std::to_string(key.id.value());
  }
  return text;
}

std::string Text(const VoterSet& voters) {
  std::vector<ReplicaKey> keys;
  for (const Voter& voter : voters) keys.push_back(voter.key);
  return Text(keys);
}

std::string Text(const raft::ResponseHeader& header) {
  std::ostringstream out;
  out << header.error << " epoch=" << header.epoch << " leader=" << Text(header.leader);
  return out.str();
}

std::string Text(const ElectionState& election) {
  std::ostringstream out;
  out << "epoch=" << election.epoch << " leader=" << Text(election.leader)
      << " voted=" << Text(election.voted);
  return out.str();
}

std::string Text(const raft::VoteRequest& request) {
  std::ostringstream out;
  out << (request.pre_vote ? " pre-vote" : "") << " epoch=" << request.epoch
      << " end=" << Text(request.log_end);
  return out.str();
}

std::string Text(const raft::FetchRequest& request) {
  std::ostringstream out;
  out << " epoch=" << request.current_leader_epoch
      << " at=" << Text(OffsetAndEpoch{request.fetch_offset, request.last_fetched_epoch});
  switch (request.known_high_watermark) {
    case raft::KnownHighWatermark::kNotAsked:
      break;
    case raft::KnownHighWatermark::kUnknown:
      out << " hw=-";
      break;
    case raft::KnownHighWatermark::kKnown:
      out << " hw=" << request.high_watermark;
      break;
  }
  return out.str();
}

std::string Text(const raft::FetchResponse& response) {
  std::string text = " " + Text(response.header) + " hw=" + Text(response.high_watermark);
  return text + std::visit(Overloaded{
                               [](const raft::FetchedNothing&) { return std::string(" empty"); },
                               [](const raft::FetchedBatches& fetched) {
                                 return " records " + Describe(fetched.batches);
                               },
                               [](const raft::FetchedDivergence& diverging) {
                                 return " diverging " + Text(diverging.point);
                               },
                           },
                           response.payload);
}

std::string Text(const ControlRecord& record) {
  return std::visit(Overloaded{
                        [](const LeaderChange& change) {
                          return "LeaderChange leader=" + Text(std::optional(change.leader)) +
                                 " voters=" + Text(change.voters) +
                                 " granting=" + Text(change.granting_voters);
                        },
                        [](const VotersRecord& voters) { return "Voters " + Text(voters.voters); },
                        [](const ProducerBinding& binding) {
                          return "ProducerBinding name=" + binding.name +
                                 " id=" + std::to_string(binding.producer_id) +
                                 " epoch=" + std::to_string(binding.producer_epoch);
                        },
                    },
                    record);
}

std::string Text(const raft::AppendControlBatch& batch) {
  std::ostringstream out;
  out << "append control at " << Text(OffsetAndEpoch{batch.base_offset, batch.epoch});
  for (const ControlRecord& record : batch.records) out << " [" << Text(record) << "]";
  if (batch.starts_epoch) out << " starts-epoch";
  return out.str();
}

std::string Text(const raft::AppendFetchedBatches& effect) {
  std::ostringstream out;
  out << "append fetched batches=" << effect.count;
  for (const auto& [epoch, offset] : effect.epoch_starts) {
    out << " epoch " << epoch << " starts at " << offset;
  }
  for (const auto& [offset, voters] : effect.voters) {
    out << " voters at " << offset << " are " << Text(voters);
  }
  return out.str();
}

std::string Text(const raft::TraceEvent& event) {
  std::ostringstream out;
  out << raft::Name(event.kind);
  if (event.kind == raft::TraceKind::kTransition) out << ' ' << event.from << " -> " << event.to;
  out << " epoch=" << event.epoch << " leader=" << Text(event.leader);
  if (event.peer.has_value()) out << " peer=" << Text(event.peer);
  out << " offset=" << event.offset << ": " << event.reason;
  return out.str();
}

std::string Text(const raft::LeadershipChanged& change) {
  std::ostringstream out;
  out << "leadership epoch=" << change.epoch << " leader=" << Text(change.leader)
      << (change.ready ? " ready" : "");
  return out.str();
}

}  // namespace

std::string Describe(MonoTime instant) {
  if (instant == kNever) return "never";
  const auto since = instant.time_since_epoch();
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(since).count()) + "ms";
}

std::string KindOf(const Body& body) {
  return std::visit(
      Overloaded{
          [](const raft::VoteRequest& request) {
            return std::string(request.pre_vote ? "Vote pre-vote" : "Vote");
          },
          [](const raft::BeginQuorumEpochRequest&) { return std::string("Begin"); },
          [](const raft::EndQuorumEpochRequest&) { return std::string("End"); },
          [](const raft::FetchRequest&) { return std::string("Fetch"); },
          [](const raft::VoteResponse&) { return std::string("Vote answer"); },
          [](const raft::BeginQuorumEpochResponse&) { return std::string("Begin answer"); },
          [](const raft::EndQuorumEpochResponse&) { return std::string("End answer"); },
          [](const raft::FetchResponse&) { return std::string("Fetch answer"); },
          [](const Broken&) { return std::string("broken connection"); },
      },
      body);
}

std::string Describe(const Body& body) {
  return std::visit(
      Overloaded{
          [](const raft::VoteRequest& request) { return "Vote" + Text(request); },
          [](const raft::BeginQuorumEpochRequest& request) {
            return "Begin epoch=" + std::to_string(request.epoch.value());
          },
          [](const raft::EndQuorumEpochRequest& request) {
            return "End epoch=" + std::to_string(request.epoch.value()) +
                   " successors=" + Text(request.preferred_successors);
          },
          [](const raft::FetchRequest& request) { return "Fetch" + Text(request); },
          [](const raft::VoteResponse& response) {
            return "Vote answer " + Text(response.header) +
                   (response.granted ? " granted" : " refused");
          },
          [](const raft::BeginQuorumEpochResponse& response) {
            return "Begin answer " + Text(response.header);
          },
          [](const raft::EndQuorumEpochResponse& response) {
            return "End answer " + Text(response.header);
          },
          [](const raft::FetchResponse& response) { return "Fetch answer" + Text(response); },
          [](const Broken&) { return std::string("broken connection"); },
      },
      body);
}

std::string Describe(const raft::Effect& effect) {
  std::ostringstream out;
  std::visit(Overloaded{
                 [&](const raft::PersistElection& e) { out << "persist " << Text(e.election); },
                 [&](const raft::AppendClientBatch& e) {
                   out << "append client #" << e.token << " at "
                       << Text(OffsetAndEpoch{e.base_offset, e.epoch})
                       << (e.starts_epoch ? " starts-epoch" : "");
                 },
                 [&](const raft::AppendControlBatch& e) { out << Text(e); },
                 [&](const raft::AppendFetchedBatches& e) { out << Text(e); },
                 [&](const raft::TruncateTo& e) { out << "truncate to " << e.end; },
                 [](const raft::Send&) {},
                 [](const raft::ReplyVote&) {},
                 [](const raft::ReplyBeginQuorumEpoch&) {},
                 [](const raft::ReplyEndQuorumEpoch&) {},
                 [](const raft::ReplyFetch&) {},
                 [&](const raft::ParkFetch&) { out << "park"; },
                 [&](const raft::AppendCommitted& e) {
                   out << "append #" << e.token << " committed at "
                       << Text(OffsetAndEpoch{e.base_offset, e.epoch});
                 },
                 [&](const raft::AppendRefused& e) {
                   out << "append #" << e.token << " refused " << Text(e.header);
                 },
                 [&](const raft::AppendUnknown& e) {
                   out << "append #" << e.token << " unknown " << Text(e.header);
                 },
                 [&](const raft::CommitAdvanced& e) {
                   out << "expose " << e.exposed << " of hw " << e.high_watermark;
                 },
                 [&](const raft::ArmTimer& e) { out << "timer " << Describe(e.deadline); },
                 [&](const raft::LeadershipChanged& e) { out << Text(e); },
                 [&](const raft::WithdrawFromSessions& e) { out << "withdraw " << Text(e.header); },
                 [&](const raft::Quarantined& e) { out << "quarantined: " << e.reason; },
                 [&](const raft::Trace& e) { out << Text(e.event); },
             },
             effect);
  return out.str();
}

std::string DescribeStatus(const raft::Replica& replica) {
  std::ostringstream out;
  out << replica.role() << ' ' << Text(replica.election())
      << " end=" << Text(replica.log().EndPoint()) << " durable=" << replica.log().durable_end()
      << " hw=" << Text(replica.high_watermark()) << " exposed=" << replica.exposed();
  if (replica.is_ready_leader()) out << " ready";
  if (replica.quarantine().has_value()) out << " quarantined: " << *replica.quarantine();
  return out.str();
}

std::string Describe(const std::vector<raft::BatchSummary>& log) {
  if (log.empty()) return "-";
  std::ostringstream out;
  const char* separator = "";
  for (const raft::BatchSummary& batch : log) {
    out << separator << batch.base_offset;
    if (batch.last_offset != batch.base_offset) out << '-' << batch.last_offset;
    out << '@' << batch.epoch;
    if (batch.voters.has_value()) out << "(voters " << Text(*batch.voters) << ')';
    separator = " ";
  }
  return out.str();
}

}  // namespace quorum::interaction

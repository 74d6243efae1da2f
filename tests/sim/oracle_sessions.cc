#include "tests/sim/oracle_sessions.h"

#include <set>
#include <variant>

namespace quorum::sim {

SessionOracle::Link SessionOracle::LinkOf(const shard::LaneRequest& request) {
  return Link{request.envelope.from.key.id, request.envelope.to.key.id, request.envelope.lane};
}

void SessionOracle::Name(const Link& link, Session& session, const shard::FetchEntry& entry,
                         uint64_t request_number) {
  if (entry.withdraw) {
    session.claims.erase(entry.partition);
    return;
  }
  Claim claim;
  claim.epoch = entry.current_leader_epoch;
  claim.request_number = request_number;
  const raft::Replica* replica = find_replica_(link.follower, entry.partition);
  claim.follows = replica != nullptr && replica->role() == raft::RoleKind::kFollower &&
                  replica->election().leader == session.leader;
  session.claims[entry.partition] = claim;
}

void SessionOracle::CheckFollower(const Link& link, const Session& session,
                                  uint64_t request_number) {
  for (const auto& [partition, claim] : session.claims) {
    if (claim.request_number == request_number) continue;
    const raft::Replica* replica = find_replica_(link.follower, partition);
    const bool holds = replica != nullptr && !replica->quarantine().has_value() &&
                       replica->election().epoch == claim.epoch &&
                       (!claim.follows || (replica->role() == raft::RoleKind::kFollower &&
                                           replica->election().leader == session.leader));
    if (holds) continue;
    failure_.Report("session", ToText(partition), " node ", link.follower.value(),
                    " leaves it out of a request to node ", link.leader.value(),
                    " and so claims to follow it in epoch ", claim.epoch.value(),
                    ", which it does no more");
  }
}

void SessionOracle::OnRequestLeaves(const shard::LaneRequest& request) {
  const auto* fetch = std::get_if<shard::FetchBatch>(&request.body);
  if (fetch == nullptr || !fetch->session.has_value()) return;
  const Link link = LinkOf(request);
  Session& session = sessions_[link];
  const shard::Envelope& envelope = request.envelope;
  if (session.id != fetch->session->session_id ||
      session.incarnation != envelope.from.incarnation) {
    session = Session{fetch->session->session_id, envelope.from.incarnation, envelope.to.key, {}};
  }
  std::set<PartitionId> named;
  for (const shard::FetchEntry& entry : fetch->entries) {
    if (!named.insert(entry.partition).second) {
      failure_.Report("session", ToText(entry.partition), " is named twice in one request");
    }
    Name(link, session, entry, fetch->session->request_number);
  }
  CheckFollower(link, session, fetch->session->request_number);
  for (const shard::FetchEntry& entry : fetch->entries) {
    if (!entry.withdraw) CheckOneSession(link, entry.partition);
  }
}

void SessionOracle::CheckOneSession(const Link& link, PartitionId partition) {
  for (const auto& [other, session] : sessions_) {
    if (other.follower != link.follower || other.leader == link.leader) continue;
    const auto found = session.claims.find(partition);
    if (found == session.claims.end() || found->second.settled) continue;
    // Taken back in a request of the same round that leaves after this one, or never.
    const raft::Replica* replica = find_replica_(link.follower, partition);
    if (replica == nullptr || replica->state().fetch.destination.id != other.leader) continue;
    failure_.Report("I15", ToText(partition), " node ", link.follower.value(),
                    " has a fetch out at node ", other.leader.value(), " and at node ",
                    link.leader.value());
  }
}

void SessionOracle::CheckLeader(const Link& link, Session& session,
                                const shard::FetchAnswer& answer) {
  for (const shard::FetchAnswerEntry& entry : answer.entries) {
    const auto found = session.claims.find(entry.partition);
    if (found == session.claims.end()) continue;
    if (found->second.request_number <= answer.session->request_number) {
      found->second.settled = true;
    }
  }
  for (const auto& [partition, claim] : session.claims) {
    if (claim.settled || !claim.follows) continue;
    if (claim.request_number > answer.session->request_number) continue;
    const raft::Replica* replica = find_replica_(link.leader, partition);
    const bool leads = replica != nullptr && !replica->quarantine().has_value() &&
                       replica->role() == raft::RoleKind::kLeader &&
                       replica->election().epoch == claim.epoch;
    if (leads) continue;
    failure_.Report("session", ToText(partition), " node ", link.leader.value(),
                    " leaves it out of an answer to node ", link.follower.value(),
                    " and so claims to lead epoch ", claim.epoch.value(),
                    ", which it does no more");
  }
}

void SessionOracle::OnAnswerLeaves(const shard::LaneRequest& request,
                                   const shard::LaneResponse& response) {
  const auto* answer = std::get_if<shard::FetchAnswer>(&response.body);
  if (answer == nullptr || !answer->session.has_value()) return;
  if (answer->session->error != shard::SessionError::kNone) {
    statistics_.Add(Counter::kSessionsEnded);
    return;
  }
  const Link link = LinkOf(request);
  const auto found = sessions_.find(link);
  if (found == sessions_.end() || found->second.id != answer->session->session_id) return;
  if (found->second.incarnation != request.envelope.from.incarnation) return;
  if (found->second.leader != response.responder.key) return;
  CheckLeader(link, found->second, *answer);
}

void SessionOracle::OnStopped(NodeId node) {
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    const bool gone = it->first.follower == node || it->first.leader == node;
    it = gone ? sessions_.erase(it) : std::next(it);
  }
}

}  // namespace quorum::sim

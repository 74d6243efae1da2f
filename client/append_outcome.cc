#include "client/append_outcome.h"

#include <utility>

namespace quorum::client {

AppendOutcome OutcomeOf(const v1::AppendResponse& response) {
  if (!response.has_base_offset() || response.base_offset() < 0) {
    Error error;
    error.code = google::rpc::INTERNAL;
    error.message = "the server's answer to the append names no offset";
    return Unknown{std::move(error)};
  }
  Committed committed;
  committed.base_offset = Offset(response.base_offset());
  committed.leader_epoch = Epoch(response.leader_epoch());
  if (response.has_leader_id()) committed.leader = NodeId(response.leader_id());
  committed.duplicate = response.duplicate();
  return committed;
}

AppendOutcome OutcomeOf(Error error) {
  if (ProvesRefusal(error) && !error.earlier_unproven) return Refused{std::move(error)};
  return Unknown{std::move(error)};
}

}  // namespace quorum::client

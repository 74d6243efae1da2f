// AppendOutcome: the three things that can become of an append, as a type, so that no caller can
// take an unknown outcome for a failed one.
//
//   std::visit(Overloaded{
//       [](const Committed& committed) { /* In the log at committed.base_offset, for ever. */ },
//       [](const Refused& refused) { /* Not in the log, now or later: may be done again. */ },
//       [](const Unknown& unknown) { /* Perhaps in the log: read it back before doing it again. */
//       },
//   }, outcome);
//
// Thread: plain values.

#pragma once

#include <optional>
#include <variant>

#include "client/error.h"
#include "quorum/v1/log.pb.h"
#include "service/base/ids.h"

namespace quorum::client {

struct Committed {
  // The first record's; the others follow one by one.
  Offset base_offset;
  // The epoch in which the batch was appended.
  Epoch leader_epoch;
  // Who leads; empty when the server does not say.
  std::optional<NodeId> leader;
  // True when the batch was in the log before the attempt that was answered.
  bool duplicate = false;
};

struct Refused {
  Error error;
};

struct Unknown {
  Error error;
};

using AppendOutcome = std::variant<Committed, Refused, Unknown>;

// The outcome of an answer. One without an offset proves nothing.
AppendOutcome OutcomeOf(const v1::AppendResponse& response);

// The outcome of a failed append: refused when the error proves it for every attempt, else unknown.
AppendOutcome OutcomeOf(Error error);

}  // namespace quorum::client

#include "client/producer_verdict.h"

namespace quorum::client {

bool ProvesBatchRefused(const Error& error) {
  if (!ProvesRefusal(error)) return false;
  // The condition fails because of a record that is committed, so it fails for an attempt that is
  // still on its way too; and the log was searched for the batch before.
  return !error.earlier_unproven || error.reason == v1::ERROR_REASON_OFFSET_MISMATCH;
}

ProducerVerdict JudgeFailure(const Error& error, bool named, size_t appends) {
  const bool fenced = error.reason == v1::ERROR_REASON_PRODUCER_FENCED ||
                      error.reason == v1::ERROR_REASON_UNKNOWN_PRODUCER;
  if (!ProvesBatchRefused(error)) {
    if (named) return {BatchFate::kUnknown, Resync::kEnd};
    return {BatchFate::kUnknown, fenced ? Resync::kReinit : Resync::kRaise};
  }
  if (fenced) {
    if (named) return {BatchFate::kRefused, Resync::kEnd};
    return {BatchFate::kResend, Resync::kReinit};
  }
  switch (error.reason) {
    case v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE:
      // Everything before is in the log, and yet the log does not know it.
      if (named) return {BatchFate::kRefused, Resync::kReuse};
      return {BatchFate::kResend, Resync::kRaise};
    case v1::ERROR_REASON_RECORD_TOO_LARGE:
    case v1::ERROR_REASON_INVALID_REQUEST:
      if (appends > 1) return {BatchFate::kResend, Resync::kReuse, /*apart=*/true};
      return {BatchFate::kRefused, Resync::kReuse};
    default:
      return {BatchFate::kRefused, Resync::kReuse};
  }
}

}  // namespace quorum::client

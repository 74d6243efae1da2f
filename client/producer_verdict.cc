#include "client/producer_verdict.h"

#include "absl/strings/numbers.h"

namespace quorum::client {
namespace {

// The number in the error's metadata; `otherwise` when there is none.
int64_t NumberIn(const Error& error, const char* key, int64_t otherwise) {
  const auto found = error.metadata.find(key);
  int64_t number = 0;
  if (found == error.metadata.end() || !absl::SimpleAtoi(found->second, &number)) return otherwise;
  return number;
}

// Whether no attempt of the batch is, or will be, in the log.
bool ProvesRefused(const Error& error, const FailedBatch& batch) {
  if (!ProvesRefusal(error)) return false;
  switch (error.reason) {
    case v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE:
      // Records with these sequence numbers are in the log, longer ago than is remembered.
      if (NumberIn(error, "expected_sequence", 0) > batch.base_sequence) return false;
      break;
    case v1::ERROR_REASON_OFFSET_MISMATCH:
      // A committed record is in the way of any attempt that is still under way, too; and the batch
      // itself was looked for before. A log that only does not reach the offset may yet.
      if (batch.expected_offset.has_value() &&
          NumberIn(error, "log_end", 0) > batch.expected_offset->value()) {
        return true;
      }
      break;
    default:
      break;
  }
  return !error.earlier_unproven;
}

}  // namespace

ProducerVerdict JudgeFailure(const Error& error, const FailedBatch& batch) {
  const bool fenced = error.reason == v1::ERROR_REASON_PRODUCER_FENCED ||
                      error.reason == v1::ERROR_REASON_UNKNOWN_PRODUCER;
  if (!ProvesRefused(error, batch)) {
    if (batch.named) return {BatchFate::kUnknown, Resync::kEnd};
    return {BatchFate::kUnknown, fenced ? Resync::kReinit : Resync::kRaise};
  }
  if (fenced) {
    if (batch.named) return {BatchFate::kRefused, Resync::kEnd};
    return {BatchFate::kResend, Resync::kReinit};
  }
  switch (error.reason) {
    case v1::ERROR_REASON_OUT_OF_ORDER_SEQUENCE:
      // Everything before is in the log, and yet the log does not know it.
      if (batch.named) return {BatchFate::kRefused, Resync::kReuse};
      return {BatchFate::kResend, Resync::kRaise};
    case v1::ERROR_REASON_RECORD_TOO_LARGE:
    case v1::ERROR_REASON_INVALID_REQUEST:
      if (batch.appends > 1) return {BatchFate::kResend, Resync::kReuse, /*apart=*/true};
      return {BatchFate::kRefused, Resync::kReuse};
    default:
      return {BatchFate::kRefused, Resync::kReuse};
  }
}

}  // namespace quorum::client

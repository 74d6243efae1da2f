#include "client/quorumctl/session.h"

#include "absl/strings/str_cat.h"

namespace quorum::client::quorumctl {
namespace {

// Erases the line up to its end, after the cursor has gone to its beginning.
constexpr char kClearLine[] = "\r\033[K";

std::string Verdict(ExitCode code) {
  switch (code) {
    case ExitCode::kRefused:
      return "refused, nothing was changed";
    case ExitCode::kUnknown:
      return "outcome unknown, it was perhaps done";
    case ExitCode::kNotFound:
      return "not found, nothing was changed";
    case ExitCode::kUnreachable:
      return "no answer in time";
    case ExitCode::kDone:
    case ExitCode::kFailed:
    case ExitCode::kUsage:
    case ExitCode::kUnhealthy:
      return "failed";
  }
  return "failed";
}

std::string Advice(const Error& error, ExitCode code, const std::string& look) {
  if (code == ExitCode::kUnreachable && error.origin == Error::Origin::kNotSent) {
    return "nothing was sent; check --bootstrap, and that the nodes run";
  }
  if (code == ExitCode::kUnknown) {
    return absl::StrCat("read it back before repeating it: ", look);
  }
  switch (error.reason) {
    case v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION:
      return "see what exists: quorumctl topic list";
    case v1::ERROR_REASON_NOT_LEADER:
    case v1::ERROR_REASON_LEADER_NOT_AVAILABLE:
      return absl::StrCat("wait longer with --timeout, or see who is missing: ", look);
    case v1::ERROR_REASON_THROTTLED:
      return "send less at a time, or wait longer with --timeout";
    case v1::ERROR_REASON_STORAGE_FULL:
      return "free space on the disks of the partition's nodes";
    case v1::ERROR_REASON_RECORD_TOO_LARGE:
      return "make the records smaller, or the batch shorter with --batch";
    case v1::ERROR_REASON_OFFSET_OUT_OF_RANGE:
      return "begin within the log: --from=earliest";
    case v1::ERROR_REASON_OFFSET_MISMATCH:
      return absl::StrCat("read what was appended meanwhile, then expect the new end: ", look);
    case v1::ERROR_REASON_PRODUCER_FENCED:
      return absl::StrCat("another producer of that name has taken over; see what it did: ", look);
    case v1::ERROR_REASON_TOPIC_ALREADY_EXISTS:
      return absl::StrCat("see what it is: ", look);
    case v1::ERROR_REASON_NOT_ENOUGH_NODES:
      return "ask for fewer --replicas, or see which nodes live: quorumctl cluster describe";
    default:
      return absl::StrCat("see what there is: ", look);
  }
}

}  // namespace

std::string WhyLine(const Error& error) {
  std::string line = error.ToString();
  const LeaderHint hint = error.leader();
  if (hint.node.has_value()) {
    absl::StrAppend(&line, " (leader: node ", hint.node->value());
    if (!hint.address.empty()) absl::StrAppend(&line, " at ", hint.address);
    if (hint.epoch.has_value()) absl::StrAppend(&line, ", epoch ", hint.epoch->value());
    absl::StrAppend(&line, ")");
  }
  if (error.attempts > 1) absl::StrAppend(&line, " (attempts: ", error.attempts, ")");
  return line;
}

CallOptions Session::Call() const {
  CallOptions options;
  options.timeout = timeout;
  if (streams.err_is_terminal) {
    options.on_retry = [&err = streams.err](const RetryNotice& notice) {
      err << kClearLine << "trying again: " << notice.error.ToString() << std::flush;
    };
  }
  return options;
}

void Session::ClearProgress() const {
  if (streams.err_is_terminal) streams.err << kClearLine << std::flush;
}

void Session::Report(const std::string& what, const Error& error, ExitCode code,
                     const std::string& look) const {
  ClearProgress();
  streams.err << "quorumctl: " << what << ": " << Verdict(code) << "\n"
              << "  why: " << WhyLine(error) << "\n"
              << "  do:  " << Advice(error, code, look) << "\n";
}

ExitCode Session::Fail(CallKind kind, const std::string& what, const Error& error,
                       const std::string& look) const {
  const ExitCode code = ExitCodeOf(kind, error);
  Report(what, error, code, look);
  return code;
}

}  // namespace quorum::client::quorumctl

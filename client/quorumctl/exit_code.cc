#include "client/quorumctl/exit_code.h"

namespace quorum::client::quorumctl {

ExitCode ExitCodeOf(CallKind kind, const Error& error) {
  if (error.origin == Error::Origin::kNotSent) return ExitCode::kUnreachable;
  const bool ours = error.origin == Error::Origin::kServer;
  switch (kind) {
    case CallKind::kAppend:
    case CallKind::kIdempotentAppend:
      if (!ProvesRefusal(error)) return ExitCode::kUnknown;
      return error.code == google::rpc::NOT_FOUND ? ExitCode::kNotFound : ExitCode::kRefused;
    case CallKind::kChange:
      if (MayHaveHappened(error)) return ExitCode::kUnknown;
      return error.code == google::rpc::NOT_FOUND ? ExitCode::kNotFound : ExitCode::kRefused;
    case CallKind::kRead:
      if (ours && error.code == google::rpc::NOT_FOUND) return ExitCode::kNotFound;
      return RetryPolicy::MayRepeat(kind, error) ? ExitCode::kUnreachable : ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

}  // namespace quorum::client::quorumctl

#include "client/quorumctl/exit_code.h"

#include "service/base/overloaded.h"

namespace quorum::client::quorumctl {

ExitCode ExitCodeOf(CallKind kind, const Error& error) {
  if (error.origin == Error::Origin::kNotSent) return ExitCode::kUnreachable;
  const bool ours = error.origin == Error::Origin::kServer;
  switch (kind) {
    case CallKind::kChange:
    case CallKind::kIdempotent:
      if (MayHaveHappened(error)) return ExitCode::kUnknown;
      return error.code == google::rpc::NOT_FOUND ? ExitCode::kNotFound : ExitCode::kRefused;
    case CallKind::kRead:
      if (ours && error.code == google::rpc::NOT_FOUND) return ExitCode::kNotFound;
      return RetryPolicy::MayRepeat(kind, error) ? ExitCode::kUnreachable : ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

ExitCode ExitCodeOf(const AppendOutcome& outcome) {
  return std::visit(Overloaded{
                        [](const Committed&) { return ExitCode::kDone; },
                        [](const Refused& refused) {
                          const Error& error = refused.error;
                          if (error.code == google::rpc::NOT_FOUND) return ExitCode::kNotFound;
                          const bool unreachable = error.origin == Error::Origin::kNotSent &&
                                                   error.code == google::rpc::UNAVAILABLE;
                          return unreachable ? ExitCode::kUnreachable : ExitCode::kRefused;
                        },
                        [](const Unknown&) { return ExitCode::kUnknown; },
                    },
                    outcome);
}

}  // namespace quorum::client::quorumctl

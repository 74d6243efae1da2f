// Error and Result: what a failed call tells its caller.
//
// Three things can fail a call, and they differ in what they prove:
//   kServer     Quorum judged the call and says why: google.rpc.ErrorInfo with our domain.
//   kTransport  Something between here and there failed it: a broken connection, a time-out, a
//               proxy. The call may have been executed.
//   kNotSent    No node could be reached: nothing left this process.
//
// Thread: plain values.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/rpc/code.pb.h"
#include "google/rpc/status.pb.h"
#include "quorum/v1/error.pb.h"
#include "service/base/check.h"
#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::client {

// The domain of our ErrorInfo (error.proto).
inline constexpr char kErrorDomain[] = "quorum.v1";

// Who leads a partition, as far as an error's metadata says.
struct LeaderHint {
  std::optional<NodeId> node;
  std::optional<Epoch> epoch;
  // `host:port`; empty when not told.
  std::string address;
};

struct Error {
  enum class Origin { kServer, kTransport, kNotSent };

  Origin origin = Origin::kTransport;
  google::rpc::Code code = google::rpc::UNKNOWN;
  std::string message;

  // The name in ErrorInfo, and its value: ERROR_REASON_UNSPECIFIED for a name that this client
  // does not know yet. Empty unless the origin is kServer.
  std::string reason_name;
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  std::map<std::string, std::string> metadata;

  // How long the server asks to be left alone (RetryInfo).
  std::optional<Duration> retry_delay;

  // "field: what is wrong with it", one per violation (BadRequest).
  std::vector<std::string> violations;

  // True when an earlier attempt of the same call ended without a proof of refusal: then no later
  // refusal proves anything about the call as a whole.
  bool earlier_unproven = false;

  // How often the call was sent, this attempt included.
  int attempts = 0;

  // From the metadata; empty members where it says nothing.
  LeaderHint leader() const;

  // The reason, or the code where there is none.
  std::string ReasonName() const;

  // One line: "NOT_LEADER: node 2 does not lead orders:0".
  std::string ToString() const;
};

// True when the error proves that an append is not, and never will be, in the log: the server says
// so (ErrorInfo of ours with `outcome` = "refused"), or nothing was sent. Any other error, whatever
// its code, proves nothing.
bool ProvesRefusal(const Error& error);

// True when a failed administrative change may have been made all the same (admin.proto).
bool MayHaveHappened(const Error& error);

// Reads a failed gRPC status: `details` is the serialised google.rpc.Status of the trailer
// grpc-status-details-bin, empty when there is none. Details that do not parse count as none.
Error ErrorFromStatus(int code, const std::string& message, absl::string_view details);

// Reads the status of one entry of a batched answer.
Error ErrorFromStatus(const google::rpc::Status& status);

// The error of a call for which no node could be reached.
Error NotSentError(const std::string& message);

// A value, or why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Not explicit, so that functions can return either.
  Result(T value) : state_(std::move(value)) {}      // NOLINT(runtime/explicit)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(runtime/explicit)

  bool ok() const { return std::holds_alternative<T>(state_); }

  // CHECKs ok().
  const T& value() const {
    CHECK(ok()) << "there is no value: " << std::get_if<Error>(&state_)->ToString();
    return *std::get_if<T>(&state_);
  }
  T& value() { return const_cast<T&>(std::as_const(*this).value()); }

  // CHECKs that it is not ok().
  const Error& error() const {
    CHECK(!ok()) << "there is no error";
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

}  // namespace quorum::client

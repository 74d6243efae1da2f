// Stubs: the generated stubs of one node, and what a test needs to use them. Our client library is
// not used here on purpose: its retries would hide what the server does.
//
// Thread: any.

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "google/rpc/status.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "quorum/v1/observer.grpc.pb.h"
#include "quorum/v1/voter.grpc.pb.h"
#include "service/base/time.h"
#include "tests/integration/await.h"
#include "tests/integration/history.h"

namespace quorum::integration {

// Reconnects at once, so that a node that is back is seen to be back.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);

// Gives a call this long.
void SetDeadline(grpc::ClientContext* context, Duration limit);

struct Stubs {
  explicit Stubs(const std::string& address);

  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::LogService::Stub> log;
  const std::unique_ptr<v1::AdminService::Stub> admin;
  const std::unique_ptr<v1::ObserverService::Stub> observer;
  const std::unique_ptr<v1::VoterService::Stub> voter;
  const std::unique_ptr<grpc::health::v1::Health::Stub> health;
};

// Makes a blocking call with a deadline:
//   Call(*stubs.log, &v1::LogService::Stub::Append, request, &response)
template <typename Stub, typename Request, typename Response>
grpc::Status Call(Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response, Duration limit = kWaitMax) {
  grpc::ClientContext context;
  SetDeadline(&context, limit);
  return (stub.*method)(&context, request, response);
}

// What our ErrorInfo says; a failure without one has an empty reason.
struct Failure {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string reason;
  std::map<std::string, std::string> metadata;
  std::string message;
  // Fields that BadRequest names.
  std::vector<std::string> fields;
};

Failure FailureOf(const grpc::Status& status);
Failure FailureOf(const google::rpc::Status& status);
std::ostream& operator<<(std::ostream& out, const Failure& failure);

// The rule for clients in every language: refused only if our ErrorInfo says so.
Outcome OutcomeOf(const grpc::Status& status);

// An append of records with these values and no keys.
v1::AppendRequest AppendOf(const std::string& topic, uint32_t partition,
                           const std::vector<std::string>& values);

// What a stream of Tail brought.
struct TailRun {
  grpc::Status status;
  std::vector<LoggedRecord> records;
  std::vector<MonoTime> seen;
  // Where the stream would go on; empty while nothing said so.
  std::optional<int64_t> next_offset;
  std::optional<int64_t> high_watermark;
};

// Follows a stream until its end, until `enough` says so, or for `limit`. Values are the payloads.
TailRun RunTail(v1::LogService::Stub& stub, const v1::TailRequest& request, Duration limit,
                const std::function<bool(const TailRun&)>& enough = nullptr);

}  // namespace quorum::integration

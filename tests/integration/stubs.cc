#include "tests/integration/stubs.h"

#include <stdlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "service/base/check.h"

namespace quorum::integration {
namespace {

constexpr char kDomain[] = "quorum.v1";

// Channels of blocking stubs make progress only while a call waits, or when gRPC looks after them,
// by default every 5 s: too seldom to notice that a node is back.
void LookAfterChannels() {
  static const bool done = setenv("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "20", 1) == 0;
  CHECK(done);
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  LookAfterChannels();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(grpc::ClientContext* context, Duration limit) {
  const gpr_timespec left = gpr_time_from_nanos(limit.count(), GPR_TIMESPAN);
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), left));
}

Stubs::Stubs(const std::string& address)
    : channel(Connect(address)),
      log(v1::LogService::NewStub(channel)),
      admin(v1::AdminService::NewStub(channel)),
      observer(v1::ObserverService::NewStub(channel)),
      voter(v1::VoterService::NewStub(channel)),
      health(grpc::health::v1::Health::NewStub(channel)) {}

Failure FailureOf(const google::rpc::Status& status) {
  Failure failure;
  failure.code = static_cast<grpc::StatusCode>(status.code());
  failure.message = status.message();
  for (const google::protobuf::Any& detail : status.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&info) && info.domain() == kDomain) {
      failure.reason = info.reason();
      for (const auto& [key, value] : info.metadata()) failure.metadata[key] = value;
    } else if (detail.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations()) {
        failure.fields.push_back(violation.field());
      }
    }
  }
  return failure;
}

Failure FailureOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) details.Clear();
  Failure failure = FailureOf(details);
  failure.code = status.error_code();
  failure.message = status.error_message();
  return failure;
}

std::ostream& operator<<(std::ostream& out, const Failure& failure) {
  out << "code " << failure.code << " reason \"" << failure.reason << "\"";
  for (const auto& [key, value] : failure.metadata) out << " " << key << "=" << value;
  for (const std::string& field : failure.fields) out << " field=" << field;
  return out << ": " << failure.message;
}

Outcome OutcomeOf(const grpc::Status& status) {
  if (status.ok()) return Outcome::kCommitted;
  const Failure failure = FailureOf(status);
  const auto outcome = failure.metadata.find("outcome");
  const bool refused = outcome != failure.metadata.end() && outcome->second == "refused";
  return refused ? Outcome::kRefused : Outcome::kUnknown;
}

v1::AppendRequest AppendOf(const std::string& topic, uint32_t partition,
                           const std::vector<std::string>& values) {
  v1::AppendRequest request;
  request.set_topic(topic);
  request.set_partition(partition);
  for (const std::string& value : values) request.add_records()->set_value(value);
  return request;
}

TailRun RunTail(v1::LogService::Stub& stub, const v1::TailRequest& request, Duration limit,
                const std::function<bool(const TailRun&)>& enough) {
  TailRun run;
  grpc::ClientContext context;
  SetDeadline(&context, limit);
  const auto stream = stub.Tail(&context, request);
  v1::TailResponse message;
  bool stopped = false;
  while (stream->Read(&message)) {
    if (stopped) continue;
    if (message.has_records()) {
      for (const v1::RecordBatch& batch : message.records().batches()) {
        for (const v1::Record& record : batch.records()) {
          run.records.push_back(LoggedRecord{batch.base_offset() + record.offset_delta(),
                                             batch.leader_epoch(), record.value()});
          run.seen.push_back(Now());
        }
      }
      run.next_offset = message.records().next_offset();
      run.high_watermark = message.records().high_watermark();
    } else if (message.has_progress()) {
      const v1::TailResponse::Progress& progress = message.progress();
      if (progress.has_next_offset()) run.next_offset = progress.next_offset();
      if (progress.has_high_watermark()) run.high_watermark = progress.high_watermark();
    }
    if (enough != nullptr && enough(run)) {
      stopped = true;
      context.TryCancel();
    }
  }
  run.status = stream->Finish();
  if (stopped) run.status = grpc::Status::OK;
  return run;
}

}  // namespace quorum::integration

#include "service/transport/log_service.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/transport/append_flow.h"
#include "service/transport/call_options.h"
#include "service/transport/init_producer.h"
#include "service/transport/list_offsets.h"
#include "service/transport/partition_gather.h"
#include "service/transport/partition_lookup.h"
#include "service/transport/tail_stream.h"

namespace quorum::transport {
namespace {

grpc::ServerUnaryReactor* Finish(grpc::ServerUnaryReactor* reactor, const grpc::Status& status) {
  reactor->Finish(status);
  return reactor;
}

// The options of an append, or why the whole call is refused.
template <typename Request>
std::optional<CallError> ReadOptions(const ClientParts& parts,
                                     const grpc::CallbackServerContext& context,
                                     const Request& request, AppendOptions* options) {
  std::optional<CallError> error = RefuseCall(parts, request.cluster_id());
  std::optional<Duration> timeout;
  if (!error.has_value()) error = ReadTimeout(request, &timeout);
  if (error.has_value()) return error->Refused();
  options->may_forward = MayForward(request);
  options->forwarded = request.has_forwarded_by();
  options->deadline = DeadlineOf(parts, context, timeout);
  options->cancelled = [&parts, &context] {
    return parts.shutting_down.load() || context.IsCancelled();
  };
  return std::nullopt;
}

using BatchRequest = v1::AppendBatchRequest;
using BatchResponse = v1::AppendBatchResponse;

void EncodeOutcome(AppendOutcome outcome, BatchResponse::Partition* entry) {
  switch (outcome.kind) {
    case AppendOutcome::Kind::kCommitted: {
      const v1::AppendResponse& from = outcome.committed;
      v1::AppendBatchResponse::Committed* committed = entry->mutable_committed();
      committed->set_base_offset(from.base_offset());
      committed->set_leader_epoch(from.leader_epoch());
      if (from.has_leader_id()) committed->set_leader_id(from.leader_id());
      committed->set_duplicate(from.duplicate());
      return;
    }
    case AppendOutcome::Kind::kRefused:
      *entry->mutable_refused() = std::move(outcome.error);
      return;
    case AppendOutcome::Kind::kUnknown:
      *entry->mutable_unknown() = std::move(outcome.error);
      return;
  }
}

// How often each partition is named.
std::map<std::pair<std::string, uint32_t>, int> CountNames(const BatchRequest& request) {
  std::map<std::pair<std::string, uint32_t>, int> named;
  for (const BatchRequest::Topic& topic : request.topics()) {
    for (const BatchRequest::Partition& partition : topic.partitions()) {
      if (partition.has_partition()) ++named[{topic.topic(), partition.partition()}];
    }
  }
  return named;
}

// Finishes the call when the last entry has its outcome.
class BatchEnd {
 public:
  BatchEnd(size_t entries, grpc::ServerUnaryReactor* reactor)
      : outstanding_(entries), reactor_(reactor) {}

  void EndOne() {
    if (outstanding_.fetch_sub(1) == 1) reactor_->Finish(grpc::Status::OK);
  }

 private:
  std::atomic<size_t> outstanding_;
  grpc::ServerUnaryReactor* const reactor_;
};

struct BatchEntry {
  const std::string* topic;
  const BatchRequest::Partition* partition;
  BatchResponse::Partition* answer;
};

// The shape of the answer, an entry for each entry of the request.
std::vector<BatchEntry> MirrorEntries(const BatchRequest& request, BatchResponse* response) {
  std::vector<BatchEntry> entries;
  for (const BatchRequest::Topic& asked : request.topics()) {
    BatchResponse::Topic* topic = response->add_topics();
    topic->set_topic(asked.topic());
    for (const BatchRequest::Partition& partition : asked.partitions()) {
      BatchResponse::Partition* answer = topic->add_partitions();
      if (partition.has_partition()) answer->set_partition(partition.partition());
      entries.push_back({&asked.topic(), &partition, answer});
    }
  }
  return entries;
}

}  // namespace

grpc::ServerUnaryReactor* LogService::Append(grpc::CallbackServerContext* context,
                                             const v1::AppendRequest* request,
                                             v1::AppendResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AppendOptions options;
  const std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  AppendFlow::Run(parts_, EntryOf(*request), std::move(options),
                  [reactor, response](AppendOutcome outcome) {
                    if (outcome.kind != AppendOutcome::Kind::kCommitted) {
                      reactor->Finish(StatusOf(outcome.error));
                      return;
                    }
                    *response = std::move(outcome.committed);
                    reactor->Finish(grpc::Status::OK);
                  });
  return reactor;
}

grpc::ServerUnaryReactor* LogService::AppendBatch(grpc::CallbackServerContext* context,
                                                  const v1::AppendBatchRequest* request,
                                                  v1::AppendBatchResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AppendOptions options;
  std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (!error.has_value()) error = CheckTopics(parts_, *request);
  if (error.has_value()) return Finish(reactor, error->Refused().ToGrpc());
  const std::vector<BatchEntry> entries = MirrorEntries(*request, response);
  const auto named = CountNames(*request);
  options.forwarder = std::make_shared<AppendForwarder>(parts_, options.deadline);
  const AppendForwarder::Gathering gathering(options.forwarder);
  // One more than there are entries, so that the call cannot end before all have begun.
  const auto end = std::make_shared<BatchEnd>(entries.size() + 1, reactor);
  for (const BatchEntry& entry : entries) {
    const auto names = named.find({*entry.topic, entry.partition->partition()});
    if (entry.partition->has_partition() && names->second > 1) {
      *entry.answer->mutable_refused() =
          InvalidField("partition", "is named twice").Refused().ToRpc();
      end->EndOne();
      continue;
    }
    AppendFlow::Run(parts_, EntryOf(*entry.topic, *entry.partition), options,
                    [end, answer = entry.answer](AppendOutcome outcome) {
                      EncodeOutcome(std::move(outcome), answer);
                      end->EndOne();
                    });
  }
  end->EndOne();
  return reactor;
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* LogService::Tail(
    grpc::CallbackServerContext* /*context*/, const grpc::ByteBuffer* request) {
  return TailStream::Start(parts_, *request);
}

grpc::ServerUnaryReactor* LogService::ListOffsets(grpc::CallbackServerContext* context,
                                                  const v1::ListOffsetsRequest* request,
                                                  v1::ListOffsetsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  std::optional<CallError> error = RefuseCall(parts_, request->cluster_id());
  if (!error.has_value()) error = CheckTopics(parts_, *request);
  if (error.has_value()) return Finish(reactor, error->Refused().ToGrpc());
  GatherOptions options;
  options.may_forward = MayForward(*request);
  options.stale_ok = request->stale_ok();
  options.deadline = DeadlineOf(parts_, *context, std::nullopt);
  options.cancelled = [this, context] {
    return parts_.shutting_down.load() || context->IsCancelled();
  };
  PartitionGather<ListOffsetsTraits>::Run(parts_, *request, std::move(options), response,
                                          [reactor] { reactor->Finish(grpc::Status::OK); });
  return reactor;
}

grpc::ServerUnaryReactor* LogService::InitProducer(grpc::CallbackServerContext* context,
                                                   const v1::InitProducerRequest* request,
                                                   v1::InitProducerResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AppendOptions options;
  const std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  transport::InitProducer(
      parts_, *request, std::move(options),
      [reactor, response](const grpc::Status& status, v1::InitProducerResponse given) {
        *response = std::move(given);
        reactor->Finish(status);
      });
  return reactor;
}

}  // namespace quorum::transport

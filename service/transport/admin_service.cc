#include "service/transport/admin_service.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/transport/call_options.h"
#include "service/transport/catalog_change.h"
#include "service/transport/describe_cluster.h"
#include "service/transport/describe_quorum.h"
#include "service/transport/elect_leader.h"
#include "service/transport/init_producer.h"
#include "service/transport/partition_gather.h"
#include "service/transport/partition_lookup.h"

namespace quorum::transport {
namespace {

constexpr int32_t kPageSizeDefault = 100;
constexpr int32_t kPageSizeMax = 1000;

grpc::ServerUnaryReactor* Finish(grpc::ServerUnaryReactor* reactor, const grpc::Status& status) {
  reactor->Finish(status);
  return reactor;
}

grpc::ServerUnaryReactor* NotImplemented(grpc::CallbackServerContext* context,
                                         const char* sentence) {
  return Finish(context->DefaultReactor(),
                CallError(v1::ERROR_REASON_NOT_IMPLEMENTED, sentence).ToGrpc());
}

void EncodeTopic(const controller::TopicView& view, v1::TopicDescription* topic) {
  topic->set_topic_id(view.id.value());
  topic->set_name(view.name);
  topic->set_partition_count(static_cast<uint32_t>(view.partitions.size()));
  topic->set_replica_count(view.replica_count);
  topic->set_internal(view.internal);
}

void EncodePartitions(const controller::TopicView& view, const LeaderHints& hints,
                      v1::TopicDescription* topic) {
  for (uint32_t index = 0; index < view.partitions.size(); ++index) {
    const controller::PartitionView& from = view.partitions[index];
    v1::TopicDescription::Partition* partition = topic->add_partitions();
    partition->set_partition(index);
    partition->set_state(from.created ? v1::PARTITION_STATE_CREATED : v1::PARTITION_STATE_CREATING);
    const shard::LeaderHint hint = hints.Find(PartitionId{view.id, index});
    if (hint.leader.has_value()) partition->set_leader_id(hint.leader->id.value());
    if (hint.epoch > Epoch(0)) partition->set_leader_epoch(hint.epoch.value());
    for (const ReplicaKey& key : from.assignment) EncodeName(key, partition->add_replicas());
  }
}

template <typename Request>
std::optional<CallError> ReadOptions(const ClientParts& parts,
                                     const grpc::CallbackServerContext& context,
                                     const Request& request, ChangeOptions* options) {
  std::optional<CallError> error = RefuseCall(parts, request.cluster_id());
  std::optional<Duration> timeout;
  if (!error.has_value()) error = ReadTimeout(request, &timeout);
  if (error.has_value()) return error;
  options->may_forward = MayForward(request);
  options->forwarded = request.has_forwarded_by();
  options->deadline = DeadlineOf(parts, context, timeout);
  options->cancelled = [&parts, &context] {
    return parts.shutting_down.load() || context.IsCancelled();
  };
  return std::nullopt;
}

template <typename Response>
auto FinishWith(grpc::ServerUnaryReactor* reactor, Response* response) {
  return [reactor, response](const grpc::Status& status, Response result) {
    *response = std::move(result);
    reactor->Finish(status);
  };
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::CreateTopic(grpc::CallbackServerContext* context,
                                                    const v1::CreateTopicRequest* request,
                                                    v1::CreateTopicResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ChangeOptions options;
  const std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  controller::TopicCreation creation;
  creation.name = request->name();
  if (request->has_partitions()) creation.partitions = request->partitions();
  if (request->has_replicas()) creation.replicas = request->replicas();
  creation.deadline = options.deadline;
  using Change = CatalogChange<v1::CreateTopicRequest, v1::CreateTopicResponse>;
  Change::Steps steps;
  steps.topic = request->name();
  steps.method = "/quorum.v1.AdminService/CreateTopic";
  steps.ask = [this, creation](controller::ControllerDone done) {
    parts_.controller.CreateTopic(creation, std::move(done));
  };
  steps.shown = [this](const v1::CreateTopicResponse& made) {
    // One that was deleted before it could be described will never be seen.
    return !made.has_topic() ||
           parts_.catalog.FindTopic(TopicId(made.topic().topic_id())) != nullptr;
  };
  steps.encode = [this](const controller::ControllerResult& result, v1::CreateTopicResponse* made) {
    if (result.topic == nullptr) return;
    EncodeTopic(*result.topic, made->mutable_topic());
    EncodePartitions(*result.topic, parts_.hints, made->mutable_topic());
  };
  steps.done = FinishWith(reactor, response);
  Change::Run(parts_, *request, std::move(options), std::move(steps));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::DeleteTopic(grpc::CallbackServerContext* context,
                                                    const v1::DeleteTopicRequest* request,
                                                    v1::DeleteTopicResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ChangeOptions options;
  const std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  controller::TopicRemoval removal;
  removal.name = request->name();
  if (request->has_topic_id()) removal.id = TopicId(request->topic_id());
  removal.deadline = options.deadline;
  using Change = CatalogChange<v1::DeleteTopicRequest, v1::DeleteTopicResponse>;
  Change::Steps steps;
  steps.topic = request->name();
  steps.method = "/quorum.v1.AdminService/DeleteTopic";
  steps.ask = [this, removal](controller::ControllerDone done) {
    parts_.controller.DeleteTopic(removal, std::move(done));
  };
  steps.shown = [this](const v1::DeleteTopicResponse& made) {
    return parts_.catalog.FindTopic(TopicId(made.topic_id())) == nullptr;
  };
  steps.encode = [](const controller::ControllerResult& result, v1::DeleteTopicResponse* made) {
    made->set_topic_id(result.deleted.value());
  };
  steps.done = FinishWith(reactor, response);
  Change::Run(parts_, *request, std::move(options), std::move(steps));
  return reactor;
}

// The page token is the last name of the page before.
grpc::ServerUnaryReactor* AdminService::ListTopics(grpc::CallbackServerContext* context,
                                                   const v1::ListTopicsRequest* request,
                                                   v1::ListTopicsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  std::optional<CallError> error = RefuseCall(parts_, request->cluster_id());
  if (!error.has_value() && request->page_size() < 0) {
    error = InvalidField("page_size", "must not be negative");
  }
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  const int32_t size =
      request->page_size() == 0 ? kPageSizeDefault : std::min(request->page_size(), kPageSizeMax);
  std::string after = request->page_token();
  // One more than a page shows whether there is another one.
  const size_t wanted = static_cast<size_t>(size) + 1;
  while (static_cast<int32_t>(response->topics_size()) <= size) {
    const auto topics = parts_.catalog.ListTopics(after, wanted);
    for (const auto& topic : topics) {
      after = topic->name;
      if (topic->internal && !request->include_internal()) continue;
      EncodeTopic(*topic, response->add_topics());
    }
    if (topics.size() < wanted) break;
  }
  if (response->topics_size() > size) {
    response->mutable_topics()->DeleteSubrange(size, response->topics_size() - size);
    response->set_next_page_token(response->topics(size - 1).name());
  }
  return Finish(reactor, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::DescribeTopic(grpc::CallbackServerContext* context,
                                                      const v1::DescribeTopicRequest* request,
                                                      v1::DescribeTopicResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::optional<CallError> error = RefuseCall(parts_, request->cluster_id());
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  const std::shared_ptr<const controller::TopicView> view =
      parts_.catalog.FindTopic(request->name());
  if (view == nullptr) return Finish(reactor, UnknownTopic(request->name()).ToGrpc());
  EncodeTopic(*view, response->mutable_topic());
  EncodePartitions(*view, parts_.hints, response->mutable_topic());
  return Finish(reactor, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::DescribeQuorum(grpc::CallbackServerContext* context,
                                                       const v1::DescribeQuorumRequest* request,
                                                       v1::DescribeQuorumResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  std::optional<CallError> error = RefuseCall(parts_, request->cluster_id());
  if (!error.has_value()) error = CheckTopics(parts_, *request);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  GatherOptions options;
  options.may_forward = MayForward(*request);
  options.stale_ok = request->stale_ok();
  options.deadline = DeadlineOf(parts_, *context, std::nullopt);
  options.cancelled = [this, context] {
    return parts_.shutting_down.load() || context->IsCancelled();
  };
  PartitionGather<DescribeQuorumTraits>::Run(parts_, *request, std::move(options), response,
                                             [reactor] { reactor->Finish(grpc::Status::OK); });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::AlterQuorum(grpc::CallbackServerContext* context,
                                                    const v1::AlterQuorumRequest* /*request*/,
                                                    v1::AlterQuorumResponse* /*response*/) {
  return NotImplemented(context, "This version cannot give a partition other replicas.");
}

grpc::ServerUnaryReactor* AdminService::AddVoter(grpc::CallbackServerContext* context,
                                                 const v1::AddVoterRequest* /*request*/,
                                                 v1::AddVoterResponse* /*response*/) {
  return NotImplemented(context, "This version cannot change the voters of a partition.");
}

grpc::ServerUnaryReactor* AdminService::RemoveVoter(grpc::CallbackServerContext* context,
                                                    const v1::RemoveVoterRequest* /*request*/,
                                                    v1::RemoveVoterResponse* /*response*/) {
  return NotImplemented(context, "This version cannot change the voters of a partition.");
}

grpc::ServerUnaryReactor* AdminService::ElectLeader(grpc::CallbackServerContext* context,
                                                    const v1::ElectLeaderRequest* request,
                                                    v1::ElectLeaderResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ChangeOptions common;
  std::optional<CallError> error = ReadOptions(parts_, *context, *request, &common);
  if (!error.has_value()) error = CheckTopics(parts_, *request);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  const ElectOptions options{common.may_forward, common.deadline, common.cancelled};
  // The whole answer is laid out before the first entry can be filled.
  for (const v1::ElectLeaderRequest::Topic& asked : request->topics()) {
    v1::ElectLeaderResponse::Topic* topic = response->add_topics();
    topic->set_topic(asked.topic());
    for (int i = 0; i < asked.partitions_size(); ++i) topic->add_partitions();
  }
  const auto outstanding = std::make_shared<std::atomic<size_t>>(1);
  const auto end_one = [reactor, outstanding] {
    if (outstanding->fetch_sub(1) == 1) reactor->Finish(grpc::Status::OK);
  };
  for (int i = 0; i < request->topics_size(); ++i) {
    const v1::ElectLeaderRequest::Topic& asked = request->topics(i);
    for (int j = 0; j < asked.partitions_size(); ++j) {
      outstanding->fetch_add(1);
      transport::ElectLeader::Run(parts_, asked.topic(), asked.partitions(j), options,
                                  response->mutable_topics(i)->mutable_partitions(j), end_one);
    }
  }
  end_one();
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::DescribeCluster(grpc::CallbackServerContext* context,
                                                        const v1::DescribeClusterRequest* request,
                                                        v1::DescribeClusterResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const std::optional<CallError> error = RefuseCall(parts_, request->cluster_id());
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  const MonoTime deadline = DeadlineOf(parts_, *context, std::nullopt);
  transport::DescribeCluster(parts_, MayForward(*request), deadline, response,
                             [reactor] { reactor->Finish(grpc::Status::OK); });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::AllocateProducerIds(
    grpc::CallbackServerContext* context, const v1::AllocateProducerIdsRequest* request,
    v1::AllocateProducerIdsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  ChangeOptions options;
  const std::optional<CallError> error = ReadOptions(parts_, *context, *request, &options);
  if (error.has_value()) return Finish(reactor, error->ToGrpc());
  transport::AllocateProducerIds(parts_, *request, std::move(options),
                                 FinishWith(reactor, response));
  return reactor;
}

}  // namespace quorum::transport

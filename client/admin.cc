#include "client/admin.h"

#include <utility>

#include "client/calls.h"
#include "client/quorum_client.h"

namespace quorum::client {
namespace {

constexpr int kPageSize = 1000;
// A node gathers the answers of others for as long as it is given, and a partition without a leader
// has none.
constexpr Duration kDiagnosisTime = std::chrono::seconds(2);
// Far more than a cluster holds: a server whose pages never end must not be followed for ever.
constexpr int kPagesMax = 10000;

template <typename Request, typename Response>
Result<Response> Read(const std::shared_ptr<ClientCore>& core, Request request, CallOptions options,
                      Duration attempt_time_max = CallSettings().attempt_time_max) {
  CallSettings settings{CallKind::kRead, std::nullopt, std::move(options), attempt_time_max};
  return Call<Request, Response>(core, std::move(settings), std::move(request),
                                 StepsOf<Request, Response>());
}

Result<v1::DescribeQuorumResponse> Diagnose(const std::shared_ptr<ClientCore>& core,
                                            v1::DescribeQuorumRequest request,
                                            CallOptions options) {
  return Read<v1::DescribeQuorumRequest, v1::DescribeQuorumResponse>(
      core, std::move(request), std::move(options), kDiagnosisTime);
}

template <typename Request, typename Response>
Result<Response> Change(const std::shared_ptr<ClientCore>& core, Request request,
                        CallOptions options) {
  auto steps = StepsOf<Request, Response>();
  steps.set_timeout = &SetTimeout<Request>;
  return Call<Request, Response>(core,
                                 CallSettings{CallKind::kChange, std::nullopt, std::move(options)},
                                 std::move(request), std::move(steps));
}

Error Incomplete() {
  Error error;
  error.code = google::rpc::INTERNAL;
  error.message = "the answer does not hold what was asked for";
  return error;
}

// The answer's only topic, which must hold what was asked for: any number of partitions, or as many
// as were named.
template <typename Response>
Result<typename Response::Topic> OnlyTopic(Result<Response> result, size_t partitions) {
  if (!result.ok()) return result.error();
  Response& response = result.value();
  if (response.topics_size() != 1) return Incomplete();
  if (auto error = EntryErrorOf(response.topics(0))) return std::move(*error);
  const auto count = static_cast<size_t>(response.topics(0).partitions_size());
  if (partitions > 0 && count != partitions) return Incomplete();
  return std::move(*response.mutable_topics(0));
}

}  // namespace

Admin::Admin(const QuorumClient& client) : core_(client.core()) {}

Result<Topic> Admin::CreateTopic(const TopicSpec& spec, CallOptions options) const {
  v1::CreateTopicRequest request;
  request.set_name(spec.name);
  if (spec.partitions.has_value()) request.set_partitions(*spec.partitions);
  if (spec.replicas.has_value()) request.set_replicas(*spec.replicas);
  auto result = Change<v1::CreateTopicRequest, v1::CreateTopicResponse>(core_, std::move(request),
                                                                        std::move(options));
  if (!result.ok()) return result.error();
  return std::move(*result.value().mutable_topic());
}

Result<uint64_t> Admin::DeleteTopic(const std::string& name, std::optional<uint64_t> topic_id,
                                    CallOptions options) const {
  v1::DeleteTopicRequest request;
  request.set_name(name);
  if (topic_id.has_value()) request.set_topic_id(*topic_id);
  const auto result = Change<v1::DeleteTopicRequest, v1::DeleteTopicResponse>(
      core_, std::move(request), std::move(options));
  if (!result.ok()) return result.error();
  return result.value().topic_id();
}

Result<std::vector<Topic>> Admin::ListTopics(bool internal, CallOptions options) const {
  std::vector<Topic> topics;
  v1::ListTopicsRequest request;
  request.set_page_size(kPageSize);
  request.set_include_internal(internal);
  for (int page = 0; page < kPagesMax; ++page) {
    auto result = Read<v1::ListTopicsRequest, v1::ListTopicsResponse>(core_, request, options);
    if (!result.ok()) return result.error();
    for (Topic& topic : *result.value().mutable_topics()) topics.push_back(std::move(topic));
    request.set_page_token(result.value().next_page_token());
    if (request.page_token().empty()) break;
  }
  return topics;
}

Result<Topic> Admin::DescribeTopic(const std::string& name, CallOptions options) const {
  v1::DescribeTopicRequest request;
  request.set_name(name);
  auto result = Read<v1::DescribeTopicRequest, v1::DescribeTopicResponse>(core_, std::move(request),
                                                                          std::move(options));
  if (!result.ok()) return result.error();
  return std::move(*result.value().mutable_topic());
}

Result<TopicQuorums> Admin::DescribeTopicQuorums(const std::string& topic,
                                                 std::vector<uint32_t> partitions, View view,
                                                 CallOptions options) const {
  v1::DescribeQuorumRequest request;
  auto* asked = request.add_topics();
  asked->set_topic(topic);
  for (const uint32_t partition : partitions) asked->add_partitions(partition);
  request.set_stale_ok(view == View::kAnyNode);
  return OnlyTopic(Diagnose(core_, std::move(request), std::move(options)), partitions.size());
}

Result<std::vector<TopicQuorums>> Admin::DescribeQuorums(const std::vector<std::string>& topics,
                                                         View view, CallOptions options) const {
  std::vector<TopicQuorums> quorums;
  if (topics.empty()) return quorums;
  v1::DescribeQuorumRequest request;
  for (const std::string& topic : topics) request.add_topics()->set_topic(topic);
  request.set_stale_ok(view == View::kAnyNode);
  auto result = Diagnose(core_, std::move(request), std::move(options));
  if (!result.ok()) return result.error();
  auto& answered = *result.value().mutable_topics();
  if (static_cast<size_t>(answered.size()) != topics.size()) return Incomplete();
  for (TopicQuorums& topic : answered) quorums.push_back(std::move(topic));
  return quorums;
}

Result<PartitionQuorum> Admin::DescribeQuorum(const PartitionName& partition, View view,
                                              CallOptions options) const {
  auto result = DescribeTopicQuorums(partition.topic, {partition.index}, view, std::move(options));
  if (!result.ok()) return result.error();
  PartitionQuorum& entry = *result.value().mutable_partitions(0);
  if (auto error = EntryErrorOf(entry)) return std::move(*error);
  return std::move(entry);
}

Result<TopicOffsets> Admin::ListOffsets(const std::string& topic, std::vector<uint32_t> partitions,
                                        CallOptions options) const {
  CallSettings settings{CallKind::kRead, std::nullopt, std::move(options)};
  if (partitions.size() == 1) settings.partition = PartitionName{topic, partitions.front()};
  v1::ListOffsetsRequest request;
  auto* asked = request.add_topics();
  asked->set_topic(topic);
  for (const uint32_t partition : partitions) asked->add_partitions(partition);
  return OnlyTopic(Call<v1::ListOffsetsRequest, v1::ListOffsetsResponse>(
                       core_, std::move(settings), std::move(request), ListOffsetsSteps()),
                   partitions.size());
}

Result<ClusterDescription> Admin::DescribeCluster(CallOptions options) const {
  return Read<v1::DescribeClusterRequest, v1::DescribeClusterResponse>(core_, {},
                                                                       std::move(options));
}

Result<Leadership> Admin::ElectLeader(const PartitionName& partition, std::optional<NodeId> node,
                                      CallOptions options) const {
  v1::ElectLeaderRequest request;
  auto* topic = request.add_topics();
  topic->set_topic(partition.topic);
  auto* asked = topic->add_partitions();
  asked->set_partition(partition.index);
  if (node.has_value()) asked->set_node_id(node->value());
  const auto result = Change<v1::ElectLeaderRequest, v1::ElectLeaderResponse>(
      core_, std::move(request), std::move(options));
  if (!result.ok()) return result.error();
  const v1::ElectLeaderResponse& response = result.value();
  if (response.topics_size() != 1 || response.topics(0).partitions_size() != 1) return Incomplete();
  const auto& entry = response.topics(0).partitions(0);
  if (auto error = EntryErrorOf(entry)) return std::move(*error);
  if (!entry.has_leader_id()) return Incomplete();
  return Leadership{NodeId(entry.leader_id()), Epoch(entry.leader_epoch())};
}

}  // namespace quorum::client

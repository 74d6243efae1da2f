#include "service/transport/append_forwarder.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "service/transport/call_deadline.h"
#include "service/transport/call_error.h"
#include "service/transport/unary_client.h"

namespace quorum::transport {
namespace {

// How long what comes by itself waits for others.
constexpr Duration kGatherTime = std::chrono::milliseconds(1);

void AddEntry(const AppendEntry& entry, v1::AppendBatchRequest* request) {
  const int topics = request->topics_size();
  v1::AppendBatchRequest::Topic* topic =
      topics > 0 && request->topics(topics - 1).topic() == entry.topic
          ? request->mutable_topics(topics - 1)
          : request->add_topics();
  topic->set_topic(entry.topic);
  v1::AppendBatchRequest::Partition* partition = topic->add_partitions();
  partition->set_partition(*entry.partition);
  *partition->mutable_records() = entry.records;
  if (entry.leader_epoch.has_value()) partition->set_leader_epoch(*entry.leader_epoch);
  if (entry.expected_offset.has_value()) partition->set_expected_offset(*entry.expected_offset);
  if (entry.producer != nullptr) *partition->mutable_producer() = *entry.producer;
}

google::rpc::Status Unknown(const char* why) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(grpc::StatusCode::UNAVAILABLE));
  status.set_message(why);
  return status;
}

// Neither of these may pass for another outcome, whatever the status in it says.
google::rpc::Status Failed(bool refused, const google::rpc::Status& status) {
  if (status.code() == static_cast<int>(grpc::StatusCode::OK) || IsRefused(status) != refused) {
    return Unknown("the leader's answer contradicts itself");
  }
  return status;
}

// What Append would have answered.
google::rpc::Status OutcomeOf(const v1::AppendBatchResponse::Partition& entry,
                              v1::AppendResponse* response) {
  switch (entry.outcome_case()) {
    case v1::AppendBatchResponse::Partition::kCommitted: {
      const v1::AppendBatchResponse::Committed& committed = entry.committed();
      response->set_base_offset(committed.base_offset());
      response->set_leader_epoch(committed.leader_epoch());
      if (committed.has_leader_id()) response->set_leader_id(committed.leader_id());
      response->set_duplicate(committed.duplicate());
      return {};
    }
    case v1::AppendBatchResponse::Partition::kRefused:
      return Failed(true, entry.refused());
    case v1::AppendBatchResponse::Partition::kUnknown:
      return Failed(false, entry.unknown());
    case v1::AppendBatchResponse::Partition::OUTCOME_NOT_SET:
      break;
  }
  return Unknown("the leader's answer has no outcome for this entry");
}

std::vector<const v1::AppendBatchResponse::Partition*> EntriesOf(
    const v1::AppendBatchResponse& response) {
  std::vector<const v1::AppendBatchResponse::Partition*> entries;
  for (const auto& topic : response.topics()) {
    for (const auto& partition : topic.partitions()) entries.push_back(&partition);
  }
  return entries;
}

}  // namespace

AppendForwarder::Gathering::Gathering(std::shared_ptr<AppendForwarder> forwarder)
    : forwarder_(std::move(forwarder)) {
  forwarder_->Hold();
}

AppendForwarder::Gathering::~Gathering() { forwarder_->Release(); }

void AppendForwarder::Add(NodeId target, std::shared_ptr<grpc::Channel> channel,
                          const AppendEntry& entry, Done done) {
  {
    MutexLock lock(&mutex_);
    Group& group = groups_[target];
    group.channel = std::move(channel);
    AddEntry(entry, &group.request);
    group.done.push_back(std::move(done));
    if (holds_ > 0 || std::exchange(flush_is_due_, true)) return;
  }
  RunAfter(kGatherTime, [self = shared_from_this()] { self->Flush(); });
}

void AppendForwarder::Hold() {
  MutexLock lock(&mutex_);
  ++holds_;
}

void AppendForwarder::Release() {
  {
    MutexLock lock(&mutex_);
    if (--holds_ > 0) return;
  }
  Flush();
}

void AppendForwarder::Flush() {
  std::map<NodeId, Group> groups;
  {
    MutexLock lock(&mutex_);
    flush_is_due_ = false;
    groups.swap(groups_);
  }
  for (auto& [target, group] : groups) Send(std::move(group));
}

void AppendForwarder::Send(Group group) {
  v1::AppendBatchRequest request = std::move(group.request);
  request.set_forwarded_by(parts_.self.self.id.value());
  request.set_cluster_id(parts_.self.cluster_id);
  const Duration left = std::max<Duration>(deadline_ - parts_.clock.Now(), Duration(1));
  EncodeDuration(left, request.mutable_timeout());
  StartUnary<v1::AppendBatchRequest, v1::AppendBatchResponse>(
      parts_.calls, group.channel, "/quorum.v1.LogService/AppendBatch", std::move(request),
      left + kHopSlack,
      [self = shared_from_this(), done = std::move(group.done)](
          const grpc::Status& status, const v1::AppendBatchResponse& response) {
        self->OnAnswer(done, RpcStatusOf(status), response);
      });
}

void AppendForwarder::OnAnswer(const std::vector<Done>& done, const google::rpc::Status& status,
                               const v1::AppendBatchResponse& response) {
  const Gathering gathering(shared_from_this());
  const auto entries = EntriesOf(response);
  const bool ok = status.code() == static_cast<int>(grpc::StatusCode::OK);
  for (size_t i = 0; i < done.size(); ++i) {
    v1::AppendResponse answer;
    if (!ok) {
      // What a call fails with is true of all its entries.
      done[i](status, answer);
    } else if (entries.size() != done.size()) {
      done[i](Unknown("the leader's answer has another shape than the question"), answer);
    } else {
      const google::rpc::Status outcome = OutcomeOf(*entries[i], &answer);
      done[i](outcome, answer);
    }
  }
}

}  // namespace quorum::transport

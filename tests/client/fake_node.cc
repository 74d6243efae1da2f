#include "tests/client/fake_node.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "service/base/check.h"

namespace quorum::client {

class FakeNode::Log : public v1::LogService::Service {
 public:
  explicit Log(FakeNode& node) : node_(node) {}

  grpc::Status Append(grpc::ServerContext* context, const v1::AppendRequest* request,
                      v1::AppendResponse* response) override {
    return node_.append.Run(context, *request, response);
  }
  grpc::Status InitProducer(grpc::ServerContext* context, const v1::InitProducerRequest* request,
                            v1::InitProducerResponse* response) override {
    return node_.init_producer.Run(context, *request, response);
  }
  grpc::Status Tail(grpc::ServerContext* context, const v1::TailRequest* request,
                    TailWriter writer) override {
    return node_.tail.Run(context, *request, writer);
  }
  grpc::Status ListOffsets(grpc::ServerContext* context, const v1::ListOffsetsRequest* request,
                           v1::ListOffsetsResponse* response) override {
    return node_.list_offsets.Run(context, *request, response);
  }

 private:
  FakeNode& node_;
};

class FakeNode::Admin : public v1::AdminService::Service {
 public:
  explicit Admin(FakeNode& node) : node_(node) {}

  grpc::Status CreateTopic(grpc::ServerContext* context, const v1::CreateTopicRequest* request,
                           v1::CreateTopicResponse* response) override {
    return node_.create_topic.Run(context, *request, response);
  }
  grpc::Status DeleteTopic(grpc::ServerContext* context, const v1::DeleteTopicRequest* request,
                           v1::DeleteTopicResponse* response) override {
    return node_.delete_topic.Run(context, *request, response);
  }
  grpc::Status ListTopics(grpc::ServerContext* context, const v1::ListTopicsRequest* request,
                          v1::ListTopicsResponse* response) override {
    return node_.list_topics.Run(context, *request, response);
  }
  grpc::Status DescribeTopic(grpc::ServerContext* context, const v1::DescribeTopicRequest* request,
                             v1::DescribeTopicResponse* response) override {
    return node_.describe_topic.Run(context, *request, response);
  }
  grpc::Status DescribeQuorum(grpc::ServerContext* context,
                              const v1::DescribeQuorumRequest* request,
                              v1::DescribeQuorumResponse* response) override {
    return node_.describe_quorum.Run(context, *request, response);
  }
  grpc::Status ElectLeader(grpc::ServerContext* context, const v1::ElectLeaderRequest* request,
                           v1::ElectLeaderResponse* response) override {
    return node_.elect_leader.Run(context, *request, response);
  }
  grpc::Status DescribeCluster(grpc::ServerContext* context,
                               const v1::DescribeClusterRequest* request,
                               v1::DescribeClusterResponse* response) override {
    return node_.describe_cluster.Run(context, *request, response);
  }

 private:
  FakeNode& node_;
};

FakeNode::FakeNode() : log_(std::make_unique<Log>(*this)), admin_(std::make_unique<Admin>(*this)) {
  init_producer.Always(
      [id = std::make_shared<std::atomic<int64_t>>(100)](
          grpc::ServerContext*, const v1::InitProducerRequest&, v1::InitProducerResponse* answer) {
        answer->set_producer_id((*id)++);
        answer->set_producer_epoch(0);
        return grpc::Status::OK;
      });
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(log_.get());
  builder.RegisterService(admin_.get());
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr) << "no port for the fake node";
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeNode::~FakeNode() { Kill(); }

void FakeNode::Kill() {
  if (server_ == nullptr) return;
  // At once: calls that run are cancelled.
  server_->Shutdown(gpr_time_0(GPR_TIMESPAN));
  server_->Wait();
  server_.reset();
}

google::rpc::Status ToRpcStatus(const FakeError& error) {
  google::rpc::Status status;
  status.set_code(error.code);
  status.set_message(error.message);
  google::rpc::ErrorInfo info;
  info.set_reason(error.reason);
  info.set_domain(error.domain);
  for (const auto& [key, value] : error.metadata) (*info.mutable_metadata())[key] = value;
  status.add_details()->PackFrom(info);
  if (error.retry_delay_ms > 0) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(error.retry_delay_ms / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<int32_t>(error.retry_delay_ms % 1000 * 1'000'000));
    status.add_details()->PackFrom(retry);
  }
  return status;
}

grpc::Status ToStatus(const FakeError& error) {
  return grpc::Status(static_cast<grpc::StatusCode>(error.code), error.message,
                      ToRpcStatus(error).SerializeAsString());
}

FakeError AsRefused(FakeError error) {
  error.metadata["outcome"] = "refused";
  return error;
}

grpc::Status HangUntilCancelled(grpc::ServerContext* context) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(&mutex);
  while (!context->IsCancelled()) never.WaitFor(&mutex, std::chrono::milliseconds(2));
  return grpc::Status::CANCELLED;
}

std::function<grpc::Status(grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse*)>
CommitAt(int64_t base_offset, int32_t leader_id, int64_t leader_epoch) {
  return [=](grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse* response) {
    response->set_base_offset(base_offset);
    response->set_leader_epoch(leader_epoch);
    response->set_leader_id(leader_id);
    return grpc::Status::OK;
  };
}

v1::TailResponse RecordsMessage(int64_t first, int64_t last, int64_t high_watermark) {
  v1::TailResponse message;
  v1::RecordBatch* batch = message.mutable_records()->add_batches();
  batch->set_base_offset(first);
  batch->set_leader_epoch(3);
  batch->set_record_count(static_cast<uint32_t>(last - first + 1));
  batch->set_base_timestamp_ms(1700000000000);
  for (int64_t offset = first; offset <= last; ++offset) {
    v1::Record* record = batch->add_records();
    record->set_value(absl::StrCat("v", offset));
    record->set_offset_delta(static_cast<uint32_t>(offset - first));
  }
  message.mutable_records()->set_next_offset(last + 1);
  message.mutable_records()->set_high_watermark(high_watermark);
  return message;
}

}  // namespace quorum::client

#include "tests/bench/quorum_callers.h"

#include <utility>

#include "quorum/v1/log.grpc.pb.h"
#include "service/base/check.h"
#include "tests/bench/channels.h"
#include "tests/bench/unary_caller.h"

namespace quorum::bench {
namespace {

using Records = google::protobuf::RepeatedPtrField<v1::Record>;

// Makes the records at the first call, and gives them new keys at each.
void FillRecords(Records* records, const Shape& shape, const std::string& value, uint64_t* number) {
  while (records->size() < static_cast<int>(shape.records)) records->Add()->set_value(value);
  for (v1::Record& record : *records) record.set_key(KeyOf((*number)++));
}

class AppendCaller
    : public UnaryCaller<v1::LogService::Stub, v1::AppendRequest, v1::AppendResponse> {
 public:
  AppendCaller(const std::shared_ptr<grpc::Channel>& channel, const std::string& topic,
               uint32_t partition, Shape shape, std::optional<int64_t> producer_id,
               Duration time_max)
      : UnaryCaller(v1::LogService::NewStub(channel), time_max),
        topic_(topic),
        partition_(partition),
        shape_(shape),
        producer_id_(producer_id),
        value_(ValueOf(shape.value_bytes)) {}

  uint64_t records() const override { return shape_.records; }

 private:
  void Fill(v1::AppendRequest* request) override {
    request->set_topic(topic_);
    request->set_partition(partition_);
    FillRecords(request->mutable_records(), shape_, value_, &number_);
    if (!producer_id_.has_value()) return;
    v1::ProducerStamp* producer = request->mutable_producer();
    producer->set_producer_id(*producer_id_);
    producer->set_producer_epoch(0);
    producer->set_base_sequence(sequence_);
  }
  void Start(Async* async, grpc::ClientContext* context, const v1::AppendRequest* request,
             v1::AppendResponse* response, std::function<void(grpc::Status)> done) override {
    async->Append(context, request, response, std::move(done));
  }
  grpc::Status Judge(const v1::AppendResponse& response) override {
    if (response.has_base_offset()) {
      sequence_ += static_cast<int64_t>(shape_.records);
      return grpc::Status::OK;
    }
    return grpc::Status(grpc::StatusCode::INTERNAL, "an append without an offset");
  }

  const std::string topic_;
  const uint32_t partition_;
  const Shape shape_;
  const std::optional<int64_t> producer_id_;
  // Of the next batch.
  int64_t sequence_ = 0;
  const std::string value_;
  uint64_t number_ = 0;
};

class AppendBatchCaller
    : public UnaryCaller<v1::LogService::Stub, v1::AppendBatchRequest, v1::AppendBatchResponse> {
 public:
  AppendBatchCaller(const std::shared_ptr<grpc::Channel>& channel, const std::string& topic,
                    std::vector<uint32_t> partitions, Shape shape, Duration time_max)
      : UnaryCaller(v1::LogService::NewStub(channel), time_max),
        topic_(topic),
        partitions_(std::move(partitions)),
        shape_(shape),
        value_(ValueOf(shape.value_bytes)) {}

  uint64_t records() const override { return shape_.records * partitions_.size(); }

 private:
  void Fill(v1::AppendBatchRequest* request) override {
    if (request->topics().empty()) {
      auto* topic = request->add_topics();
      topic->set_topic(topic_);
      for (const uint32_t partition : partitions_) {
        topic->add_partitions()->set_partition(partition);
      }
    }
    for (auto& partition : *request->mutable_topics(0)->mutable_partitions()) {
      FillRecords(partition.mutable_records(), shape_, value_, &number_);
    }
  }
  void Start(Async* async, grpc::ClientContext* context, const v1::AppendBatchRequest* request,
             v1::AppendBatchResponse* response, std::function<void(grpc::Status)> done) override {
    async->AppendBatch(context, request, response, std::move(done));
  }
  grpc::Status Judge(const v1::AppendBatchResponse& response) override {
    size_t committed = 0;
    std::string why = "an entry has no outcome";
    for (const auto& topic : response.topics()) {
      for (const auto& partition : topic.partitions()) {
        committed += partition.has_committed() ? 1 : 0;
        if (partition.has_refused()) why = partition.refused().message();
        if (partition.has_unknown()) why = partition.unknown().message();
      }
    }
    if (committed == partitions_.size()) return grpc::Status::OK;
    return grpc::Status(grpc::StatusCode::ABORTED, why);
  }

  const std::string topic_;
  const std::vector<uint32_t> partitions_;
  const Shape shape_;
  const std::string value_;
  uint64_t number_ = 0;
};

}  // namespace

int64_t InitProducer(const std::shared_ptr<grpc::Channel>& channel, Duration time_max) {
  grpc::ClientContext context;
  SetDeadline(&context, time_max);
  v1::InitProducerResponse response;
  const grpc::Status status =
      v1::LogService::NewStub(channel)->InitProducer(&context, {}, &response);
  CHECK(status.ok()) << status.error_message();
  return response.producer_id();
}

std::unique_ptr<Caller> MakeAppendCaller(const std::shared_ptr<grpc::Channel>& channel,
                                         const std::string& topic, uint32_t partition, Shape shape,
                                         std::optional<int64_t> producer_id, Duration time_max) {
  return std::make_unique<AppendCaller>(channel, topic, partition, shape, producer_id, time_max);
}

std::unique_ptr<Caller> MakeAppendBatchCaller(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& topic,
                                              std::vector<uint32_t> partitions, Shape shape,
                                              Duration time_max) {
  return std::make_unique<AppendBatchCaller>(channel, topic, std::move(partitions), shape,
                                             time_max);
}

}  // namespace quorum::bench

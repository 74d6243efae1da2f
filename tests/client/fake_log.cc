#include "tests/client/fake_log.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quorum::client {
namespace {

// As many as a server remembers.
constexpr size_t kBatchesMax = 5;
constexpr int64_t kNamedIds = int64_t{1} << 62;

grpc::Status Refusal(google::rpc::Code code, const std::string& reason,
                     std::map<std::string, std::string> metadata = {}) {
  return ToStatus(AsRefused({code, reason, "scripted", std::move(metadata)}));
}

const grpc::Status kLost(grpc::StatusCode::UNAVAILABLE, "Socket closed");

}  // namespace

void FakeLog::Serve(FakeNode* node) {
  node->init_producer.Always(
      [this](grpc::ServerContext*, const v1::InitProducerRequest& request,
             v1::InitProducerResponse* answer) { return Init(request, answer); });
  node->append.Always([this](grpc::ServerContext*, const v1::AppendRequest& request,
                             v1::AppendResponse* answer) { return Append(request, answer); });
}

void FakeLog::FailNext(Fault fault, int times) {
  MutexLock lock(&mutex_);
  faults_.insert(faults_.end(), static_cast<size_t>(times), fault);
}

void FakeLog::FailAtRandom(uint64_t seed, uint64_t per_million) {
  MutexLock lock(&mutex_);
  prng_ = Prng(seed);
  per_million_ = per_million;
}

void FakeLog::Forget() {
  MutexLock lock(&mutex_);
  producers_.clear();
  names_.clear();
}

void FakeLog::AppendElsewhere(const std::string& value) {
  MutexLock lock(&mutex_);
  values_.push_back(value);
}

std::vector<std::string> FakeLog::values() {
  MutexLock lock(&mutex_);
  return values_;
}

size_t FakeLog::batches() {
  MutexLock lock(&mutex_);
  return batches_;
}

grpc::Status FakeLog::Init(const v1::InitProducerRequest& request,
                           v1::InitProducerResponse* answer) {
  MutexLock lock(&mutex_);
  answer->mutable_expiry()->set_seconds(86400);
  answer->set_producer_epoch(0);
  if (request.name().empty()) {
    answer->set_producer_id(next_id_++);
    return grpc::Status::OK;
  }
  const auto known = names_.find(request.name());
  if (known == names_.end()) {
    answer->set_producer_id(kNamedIds + next_id_++);
    names_[request.name()] = answer->producer_id();
    producers_[answer->producer_id()];
    return grpc::Status::OK;
  }
  ProducerState& producer = producers_[known->second];
  ++producer.epoch;
  producer.next_sequence = 0;
  answer->set_producer_id(known->second);
  answer->set_producer_epoch(producer.epoch);
  return grpc::Status::OK;
}

FakeLog::Fault FakeLog::TakeFault() {
  if (!faults_.empty()) {
    const Fault fault = faults_.front();
    faults_.pop_front();
    return fault;
  }
  if (!prng_.Chance(per_million_)) return Fault::kNone;
  constexpr Fault kAll[] = {Fault::kLoseRequest, Fault::kLoseAnswer, Fault::kArriveLate,
                            Fault::kRefuse, Fault::kOvertaken};
  return kAll[prng_.Below(std::size(kAll))];
}

grpc::Status FakeLog::Append(const v1::AppendRequest& request, v1::AppendResponse* answer) {
  MutexLock lock(&mutex_);
  ++requests_;
  came_.NotifyAll();
  switch (TakeFault()) {
    case Fault::kNone:
      break;
    case Fault::kLoseRequest:
      return kLost;
    case Fault::kLoseAnswer: {
      v1::AppendResponse lost;
      Execute(request, &lost);
      return kLost;
    }
    case Fault::kArriveLate:
      late_.push_back(request);
      return kLost;
    case Fault::kRefuse:
      return Refusal(google::rpc::UNAVAILABLE, "LEADER_NOT_AVAILABLE");
    case Fault::kOvertaken: {
      const int64_t seen = requests_;
      // Not for ever: there may be no other.
      if (requests_ == seen) came_.WaitFor(&mutex_, std::chrono::milliseconds(200));
      break;
    }
  }
  const grpc::Status status = Execute(request, answer);
  if (per_million_ > 0 && !late_.empty() && prng_.Chance(300'000)) ExecuteLate();
  return status;
}

void FakeLog::ExecuteLate() {
  v1::AppendResponse lost;
  Execute(late_.front(), &lost);
  late_.pop_front();
}

void FakeLog::LetAllArrive() {
  MutexLock lock(&mutex_);
  while (!late_.empty()) ExecuteLate();
}

grpc::Status FakeLog::Execute(const v1::AppendRequest& request, v1::AppendResponse* answer) {
  answer->set_leader_epoch(3);
  answer->set_leader_id(1);
  const std::optional<grpc::Status> judged = JudgeProducer(request, answer);
  if (judged.has_value()) return *judged;
  const auto end = static_cast<int64_t>(values_.size());
  if (request.has_expected_offset() && request.expected_offset() != end) {
    return Refusal(google::rpc::ABORTED, "OFFSET_MISMATCH", {{"log_end", absl::StrCat(end)}});
  }
  for (const v1::Record& record : request.records()) {
    if (record.value() == "poison")
      return Refusal(google::rpc::INVALID_ARGUMENT, "INVALID_REQUEST");
  }
  ProducerState& producer = producers_[request.producer().producer_id()];
  producer.epoch = request.producer().producer_epoch();
  producer.next_sequence = request.producer().base_sequence() + request.records_size();
  producer.batches.push_back(
      {producer.epoch, request.producer().base_sequence(), request.records_size(), end});
  if (producer.batches.size() > kBatchesMax) producer.batches.pop_front();
  for (const v1::Record& record : request.records()) values_.push_back(record.value());
  ++batches_;
  answer->set_base_offset(end);
  return grpc::Status::OK;
}

std::optional<grpc::Status> FakeLog::JudgeProducer(const v1::AppendRequest& request,
                                                   v1::AppendResponse* answer) {
  const v1::ProducerStamp& stamp = request.producer();
  const auto known = producers_.find(stamp.producer_id());
  if (known == producers_.end()) {
    if (stamp.base_sequence() == 0 && stamp.producer_id() < kNamedIds) return std::nullopt;
    return Refusal(google::rpc::FAILED_PRECONDITION, "UNKNOWN_PRODUCER");
  }
  const ProducerState& producer = known->second;
  for (const Batch& batch : producer.batches) {
    if (batch.epoch != stamp.producer_epoch() || batch.base_sequence != stamp.base_sequence() ||
        batch.record_count != request.records_size()) {
      continue;
    }
    answer->set_base_offset(batch.base_offset);
    answer->set_duplicate(true);
    return grpc::Status::OK;
  }
  if (stamp.producer_epoch() < producer.epoch) {
    return Refusal(google::rpc::FAILED_PRECONDITION, "PRODUCER_FENCED");
  }
  const bool raised = stamp.producer_epoch() > producer.epoch;
  if (raised && stamp.producer_id() >= kNamedIds) {
    return Refusal(google::rpc::FAILED_PRECONDITION, "UNKNOWN_PRODUCER");
  }
  const int64_t expected = raised ? 0 : producer.next_sequence;
  if (stamp.base_sequence() != expected) {
    return Refusal(google::rpc::FAILED_PRECONDITION, "OUT_OF_ORDER_SEQUENCE",
                   {{"expected_sequence", absl::StrCat(expected)}});
  }
  return std::nullopt;
}

}  // namespace quorum::client

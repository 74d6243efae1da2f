#include "tests/bench/etcd_client.h"

#include <chrono>
#include <utility>

#include "etcd/etcd_kv.grpc.pb.h"
#include "service/base/check.h"
#include "tests/bench/channels.h"
#include "tests/bench/poll.h"
#include "tests/bench/unary_caller.h"

namespace quorum::bench {
namespace {

// etcd's own default, --max-txn-ops.
constexpr size_t kTransactionMax = 128;

class PutCaller : public UnaryCaller<etcdserverpb::KV::Stub, etcdserverpb::PutRequest,
                                     etcdserverpb::PutResponse> {
 public:
  PutCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape, Duration time_max)
      : UnaryCaller(etcdserverpb::KV::NewStub(channel), time_max),
        value_(ValueOf(shape.value_bytes)) {}

  uint64_t records() const override { return 1; }

 private:
  void Fill(etcdserverpb::PutRequest* request) override {
    if (request->value().empty()) request->set_value(value_);
    request->set_key(KeyOf(number_++));
  }
  void Start(Async* async, grpc::ClientContext* context, const etcdserverpb::PutRequest* request,
             etcdserverpb::PutResponse* response, std::function<void(grpc::Status)> done) override {
    async->Put(context, request, response, std::move(done));
  }
  grpc::Status Judge(const etcdserverpb::PutResponse& response) override {
    if (response.header().revision() > 0) return grpc::Status::OK;
    return grpc::Status(grpc::StatusCode::INTERNAL, "a put without a revision");
  }

  const std::string value_;
  uint64_t number_ = 0;
};

class TxnCaller : public UnaryCaller<etcdserverpb::KV::Stub, etcdserverpb::TxnRequest,
                                     etcdserverpb::TxnResponse> {
 public:
  TxnCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape, Duration time_max)
      : UnaryCaller(etcdserverpb::KV::NewStub(channel), time_max),
        puts_(shape.records),
        value_(ValueOf(shape.value_bytes)) {
    CHECK_LE(puts_, kTransactionMax);
  }

  uint64_t records() const override { return puts_; }

 private:
  void Fill(etcdserverpb::TxnRequest* request) override {
    while (request->success_size() < static_cast<int>(puts_)) {
      request->add_success()->mutable_request_put()->set_value(value_);
    }
    for (auto& operation : *request->mutable_success()) {
      operation.mutable_request_put()->set_key(KeyOf(number_++));
    }
  }
  void Start(Async* async, grpc::ClientContext* context, const etcdserverpb::TxnRequest* request,
             etcdserverpb::TxnResponse* response, std::function<void(grpc::Status)> done) override {
    async->Txn(context, request, response, std::move(done));
  }
  grpc::Status Judge(const etcdserverpb::TxnResponse& response) override {
    if (response.succeeded()) return grpc::Status::OK;
    return grpc::Status(grpc::StatusCode::INTERNAL, "a transaction that did not succeed");
  }

  const size_t puts_;
  const std::string value_;
  uint64_t number_ = 0;
};

}  // namespace

size_t WaitForEtcdLeader(const Clock& clock, const std::vector<std::string>& addresses) {
  std::vector<std::unique_ptr<etcdserverpb::Maintenance::Stub>> members;
  for (const std::string& address : addresses) {
    members.push_back(etcdserverpb::Maintenance::NewStub(MakeChannels(address, 1)[0]));
  }
  size_t leader = 0;
  const auto has_leader = [&] {
    for (size_t i = 0; i < members.size(); ++i) {
      grpc::ClientContext context;
      SetDeadline(&context, std::chrono::seconds(5));
      etcdserverpb::StatusResponse response;
      const grpc::Status status =
          members[i]->Status(&context, etcdserverpb::StatusRequest(), &response);
      leader = i;
      if (status.ok() && response.leader() != 0 &&
          response.leader() == response.header().member_id()) {
        return true;
      }
    }
    return false;
  };
  CHECK(Poll(clock, std::chrono::milliseconds(50), std::chrono::seconds(60), has_leader))
      << "etcd has no leader";
  return leader;
}

std::unique_ptr<Caller> MakeEtcdCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape,
                                       Duration time_max) {
  if (shape.records == 1) return std::make_unique<PutCaller>(channel, shape, time_max);
  return std::make_unique<TxnCaller>(channel, shape, time_max);
}

}  // namespace quorum::bench

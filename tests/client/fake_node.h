// FakeNode: a gRPC server on 127.0.0.1 that answers LogService and AdminService as a test scripts
// it. A call without a script is answered UNIMPLEMENTED, without our ErrorInfo; but InitProducer
// gives an id of its own to each caller.
//
// Thread: scripts are set from the test's thread and run on gRPC's.

#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "google/rpc/code.pb.h"
#include "google/rpc/status.pb.h"
#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/base/mutex.h"

namespace quorum::client {

// The scripted answers of one call, and the requests that came.
template <typename Request, typename Answer>
class Script {
 public:
  using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Answer)>;

  // Answers the next call that no earlier Then answers.
  void Then(Handler handler) {
    MutexLock lock(&mutex_);
    once_.push_back(std::move(handler));
  }

  // Answers every call that no Then answers.
  void Always(Handler handler) {
    MutexLock lock(&mutex_);
    always_ = std::move(handler);
  }

  std::vector<Request> requests() {
    MutexLock lock(&mutex_);
    return requests_;
  }

  // Waits until `count` calls have come; false when they do not within 10 s.
  bool Await(size_t count) {
    MutexLock lock(&mutex_);
    while (requests_.size() < count) {
      if (!came_.WaitFor(&mutex_, std::chrono::seconds(10))) return false;
    }
    return true;
  }

  grpc::Status Run(grpc::ServerContext* context, const Request& request, Answer answer) {
    Handler handler;
    {
      MutexLock lock(&mutex_);
      requests_.push_back(request);
      came_.NotifyAll();
      if (!once_.empty()) {
        handler = std::move(once_.front());
        once_.pop_front();
      } else {
        handler = always_;
      }
    }
    if (!handler) return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not scripted");
    return handler(context, request, answer);
  }

 private:
  Mutex mutex_;
  CondVar came_;
  std::deque<Handler> once_ ABSL_GUARDED_BY(mutex_);
  Handler always_ ABSL_GUARDED_BY(mutex_);
  std::vector<Request> requests_ ABSL_GUARDED_BY(mutex_);
};

using TailWriter = grpc::ServerWriter<v1::TailResponse>*;

class FakeNode {
 public:
  FakeNode();
  ~FakeNode();

  // `127.0.0.1:port`; the port stays the node's after Kill.
  const std::string& address() const { return address_; }

  // Ends the server: connections break, and new ones are refused.
  void Kill();

  Script<v1::AppendRequest, v1::AppendResponse*> append;
  Script<v1::InitProducerRequest, v1::InitProducerResponse*> init_producer;
  Script<v1::TailRequest, TailWriter> tail;
  Script<v1::ListOffsetsRequest, v1::ListOffsetsResponse*> list_offsets;
  Script<v1::CreateTopicRequest, v1::CreateTopicResponse*> create_topic;
  Script<v1::DeleteTopicRequest, v1::DeleteTopicResponse*> delete_topic;
  Script<v1::ListTopicsRequest, v1::ListTopicsResponse*> list_topics;
  Script<v1::DescribeTopicRequest, v1::DescribeTopicResponse*> describe_topic;
  Script<v1::DescribeQuorumRequest, v1::DescribeQuorumResponse*> describe_quorum;
  Script<v1::ElectLeaderRequest, v1::ElectLeaderResponse*> elect_leader;
  Script<v1::DescribeClusterRequest, v1::DescribeClusterResponse*> describe_cluster;

 private:
  class Log;
  class Admin;

  const std::unique_ptr<Log> log_;
  const std::unique_ptr<Admin> admin_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// A failure as a server of ours tells it.
struct FakeError {
  google::rpc::Code code = google::rpc::UNAVAILABLE;
  std::string reason;
  std::string message = "scripted";
  std::map<std::string, std::string> metadata = {};
  std::string domain = "quorum.v1";
  // From RetryInfo, in milliseconds; 0: none.
  int64_t retry_delay_ms = 0;
};

google::rpc::Status ToRpcStatus(const FakeError& error);
grpc::Status ToStatus(const FakeError& error);

// The same with `outcome` = "refused".
FakeError AsRefused(FakeError error);

// Waits until the call was cancelled: by its client, its deadline, or Kill.
grpc::Status HangUntilCancelled(grpc::ServerContext* context);

// Answers with these messages.
std::function<grpc::Status(grpc::ServerContext*, const v1::AppendRequest&, v1::AppendResponse*)>
CommitAt(int64_t base_offset, int32_t leader_id = 1, int64_t leader_epoch = 3);

// A message of a tail: records with the values v<offset>, from `first` to `last`.
v1::TailResponse RecordsMessage(int64_t first, int64_t last, int64_t high_watermark);

}  // namespace quorum::client

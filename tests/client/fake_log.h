// FakeLog: one partition's log behind a FakeNode, which judges producers and conditions as a server
// does (log.proto), and loses requests and answers as a test or a seed says.
//
//   FakeNode node;
//   FakeLog log;
//   log.Serve(&node);
//   log.FailNext(FakeLog::Fault::kLoseAnswer);
//
// Thread: any.

#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "service/base/prng.h"
#include "tests/client/fake_node.h"

namespace quorum::client {

class FakeLog {
 public:
  enum class Fault {
    kNone,
    // The request does not arrive.
    kLoseRequest,
    // It is executed, and the answer does not arrive.
    kLoseAnswer,
    // The connection breaks; the request arrives all the same, after one or more later ones.
    kArriveLate,
    // Refused, with nothing done.
    kRefuse,
    // It waits until another request has come, and is executed then.
    kOvertaken,
  };

  // Answers InitProducer and Append of the node from now on. The node must outlive the log, or be
  // killed before it.
  void Serve(FakeNode* node);

  // The next appends meet these faults, one each.
  void FailNext(Fault fault, int times = 1);
  // Every append meets a fault with a probability of `per_million`, drawn from the seed.
  void FailAtRandom(uint64_t seed, uint64_t per_million);
  // Forgets all producers.
  void Forget();
  // Appends as somebody else, so that conditions fail.
  void AppendElsewhere(const std::string& value);

  // What was to arrive late arrives now.
  void LetAllArrive();

  // The values, by offset.
  std::vector<std::string> values();
  // Batches that were appended.
  size_t batches();

 private:
  struct Batch {
    int32_t epoch = 0;
    int64_t base_sequence = 0;
    int record_count = 0;
    int64_t base_offset = 0;
  };
  struct ProducerState {
    int32_t epoch = 0;
    int64_t next_sequence = 0;
    std::deque<Batch> batches;
  };

  grpc::Status Init(const v1::InitProducerRequest& request, v1::InitProducerResponse* answer);
  grpc::Status Append(const v1::AppendRequest& request, v1::AppendResponse* answer);
  grpc::Status Execute(const v1::AppendRequest& request, v1::AppendResponse* answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The refusal of a producer; empty when its batch follows.
  std::optional<grpc::Status> JudgeProducer(const v1::AppendRequest& request,
                                            v1::AppendResponse* answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExecuteLate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Fault TakeFault() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar came_;
  int64_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Fault> faults_ ABSL_GUARDED_BY(mutex_);
  Prng prng_ ABSL_GUARDED_BY(mutex_){1};
  uint64_t per_million_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<v1::AppendRequest> late_ ABSL_GUARDED_BY(mutex_);
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 100;
  std::map<std::string, int64_t> names_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, ProducerState> producers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> values_ ABSL_GUARDED_BY(mutex_);
  size_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quorum::client

// Workload: clients that append to a topic and read it while the test does harm, and the history of
// what they saw.
//
//   Workload workload(&cluster, {"orders", 2});
//   ASSERT_TRUE(workload.AwaitAcks(20));
//   ... harm ...
//   ASSERT_TRUE(workload.AwaitAcks(20));   // begun after the harm
//   workload.StopAndCheck();
//
// Writers send each payload once, to one node at a time, and go to the next node after a failure.
// Readers resume where they were, at the next node.
//
// Thread: owned by the test's main thread; each client has a thread of its own.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "service/base/mutex.h"
#include "tests/integration/cluster.h"
#include "tests/integration/history.h"

namespace quorum::integration {

struct WorkloadOptions {
  std::string topic;
  // Those of the topic from 0 on.
  uint32_t partitions = 1;
  int writers = 2;
  int readers = 1;
};

// How often each outcome occurred.
struct OutcomeCounts {
  int committed = 0;
  int refused = 0;
  int unknown = 0;
};

// Reads the logs of all voters, from themselves, into a history whose clients have ended. All of
// them must run.
testing::AssertionResult ReadReplicas(Cluster* cluster, const std::string& topic,
                                      uint32_t partition, PartitionHistory* history);

class Workload {
 public:
  // Starts the clients. The cluster must outlive them.
  Workload(Cluster* cluster, WorkloadOptions options);
  // Stops them.
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  // `count` appends of each partition that began after this call are committed.
  testing::AssertionResult AwaitAcks(int count);

  // Ends the clients, reads the logs of all replicas, and fails the test if the history breaks a
  // promise. All replicas must run.
  void StopAndCheck();

  // After StopAndCheck.
  OutcomeCounts counts() const;

 private:
  void Write(int writer);
  void Read(int reader);
  void ReadOn(const Stubs& stubs, uint32_t partition, ReadOperation* read);
  // False when the clients shall end.
  bool Pause(Duration time);
  void Note(uint32_t partition, AppendOperation operation, const v1::AppendResponse& response);
  void Stop();

  Cluster* const cluster_;
  const WorkloadOptions options_;
  const std::vector<int32_t> nodes_;
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;
  CondVar stopped_;
  std::vector<PartitionHistory> histories_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace quorum::integration

// ProducerTest: a client of one scripted node, whose log takes appends as a server does.
//
// Thread: the test's; Outcomes any.

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "client/producer.h"
#include "client/quorum_client.h"
#include "service/base/mutex.h"
#include "tests/client/fake_log.h"
#include "tests/client/fake_node.h"

namespace quorum::client {

inline const PartitionName kOrders{"orders", 0};

inline AppendSpec SpecOf(const std::string& value) { return {kOrders, {RecordOf(value)}}; }

inline char LetterOf(const AppendOutcome& outcome) {
  if (std::holds_alternative<Committed>(outcome)) return 'C';
  return std::holds_alternative<Refused>(outcome) ? 'R' : 'U';
}

inline const Error& ErrorOf(const AppendOutcome& outcome) {
  static const Error none;
  if (const auto* refused = std::get_if<Refused>(&outcome)) return refused->error;
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) return unknown->error;
  return none;
}

// Outcomes by the order of the appends.
class Outcomes {
 public:
  Producer::Done Next() {
    MutexLock lock(&mutex_);
    outcomes_.emplace_back();
    return [this, index = outcomes_.size() - 1](AppendOutcome outcome) {
      MutexLock inner(&mutex_);
      EXPECT_FALSE(outcomes_[index].has_value()) << "decided twice";
      outcomes_[index] = std::move(outcome);
    };
  }

  // A letter each; '-' for none.
  std::string Letters() {
    MutexLock lock(&mutex_);
    std::string letters;
    for (const auto& outcome : outcomes_) {
      letters += outcome.has_value() ? LetterOf(*outcome) : '-';
    }
    return letters;
  }

  AppendOutcome At(size_t index) {
    MutexLock lock(&mutex_);
    return outcomes_[index].value_or(Unknown{});
  }

 private:
  Mutex mutex_;
  std::vector<std::optional<AppendOutcome>> outcomes_ ABSL_GUARDED_BY(mutex_);
};

class ProducerTest : public ::testing::Test {
 protected:
  ProducerTest() { log_.Serve(&node_); }
  // Its calls use the log.
  ~ProducerTest() override { node_.Kill(); }

  std::unique_ptr<QuorumClient> MakeClient() {
    ClientOptions options;
    options.bootstrap = {node_.address()};
    options.seed = 1;
    options.retry.backoff_first = std::chrono::milliseconds(1);
    options.retry.backoff_max = std::chrono::milliseconds(5);
    options.retry.write_time_min = std::chrono::milliseconds(5);
    options.avoid_time = std::chrono::milliseconds(1);
    return std::make_unique<QuorumClient>(options);
  }

  FakeLog log_;
  FakeNode node_;
  std::unique_ptr<QuorumClient> client_ = MakeClient();
};

}  // namespace quorum::client

// What a producer holds of a partition: appends that wait, and batches of them that were sent.
//
// Thread: the event loop's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "client/append_spec.h"
#include "client/call_flow.h"
#include "client/error.h"
#include "client/event_loop.h"
#include "client/producer.h"
#include "client/producer_budget.h"
#include "quorum/v1/log.pb.h"

namespace quorum::client {

// One append, from Append to its outcome.
struct PendingAppend {
  AppendSpec spec;
  Producer::Done done;
  MonoTime deadline;
  std::unique_ptr<BudgetShare> share;
  // The budget's.
  int64_t ticket = 0;
  // On the wire, about.
  size_t bytes = 0;
  size_t record_count = 0;
  // Never in a batch with others.
  bool alone = false;
  bool decided = false;
  EventLoop::TimerId timer;
};
using PendingAppendPointer = std::shared_ptr<PendingAppend>;

// Appends that were sent under one stamp. They are sent again only as they are.
struct ProducerBatch {
  enum class State {
    // A call is on its way, or waits for its next attempt.
    kCalling,
    // The last answer said that an earlier batch is missing, which had no outcome yet.
    kParked,
    // Not in the log; sent anew under another stamp, once nothing is on its way.
    kAbsent,
    // Has its outcome.
    kDecided,
  };
  State state = State::kCalling;
  std::vector<PendingAppendPointer> appends;
  // With the records of all appends.
  v1::AppendRequest request;
  // Counts the batches of the partition.
  int64_t number = 0;
  // The latest one of its appends.
  MonoTime deadline;
  // Every batch before had its outcome when the call began: only then does "out of order" say more
  // than that it came too early.
  bool began_first = false;
  // Why the last call failed.
  Error error;
  // An attempt ended without a proof of refusal.
  bool unproven = false;
  // The call on its way.
  std::weak_ptr<CallFlow> call;

  int64_t base_sequence() const { return request.producer().base_sequence(); }
  int64_t next_sequence() const { return base_sequence() + request.records_size(); }
};
using ProducerBatchPointer = std::shared_ptr<ProducerBatch>;

// Takes the appends of the next batch from the queue's front; those that are decided are dropped.
// Null when there is none. The batch has no stamp yet.
ProducerBatchPointer TakeBatch(size_t bytes_max, std::deque<PendingAppendPointer>* queue);

// Gives the batches' appends their records back, and puts them before the queue's front.
void PutBack(const std::deque<ProducerBatchPointer>& batches,
             std::deque<PendingAppendPointer>* queue);

// An estimate of what the append takes on the wire.
size_t WireBytes(const AppendSpec& spec);

}  // namespace quorum::client

// ProducerLane: a producer's appends to one partition. It gives each batch its sequence number,
// keeps several on their way, and decides what becomes of each append.
//
//   kNew --> kInit --> kReady <--> kDraining --> kEnded
//
// A batch that is decided without being committed leaves a gap in the sequence. The lane then
// *drains*: it sends nothing new until nothing is on its way any more, because only then can it
// know which of the later batches are in the log. Those that are not go back to the queue; then it
// goes on with the first free sequence number, in the next epoch, as another producer, or not at
// all (producer_verdict.h). A free number may be used again only if no attempt of its batch can be
// on its way any more: the log knows a batch by its stamp, not by its records.
//
// Lifecycle: held by ProducerCore and by its calls. Thread: the event loop's.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "client/client_core.h"
#include "client/producer.h"
#include "client/producer_batch.h"
#include "client/producer_budget.h"
#include "client/producer_verdict.h"

namespace quorum::client {

class ProducerLane : public std::enable_shared_from_this<ProducerLane> {
 public:
  using InitDone = std::function<void(Result<ProducerIdentity>)>;

  // `core` outlives the lane's last call.
  ProducerLane(ClientCore& core, PartitionName partition, const ProducerOptions& options,
               std::shared_ptr<ProducerBudget> budget);

  void Add(PendingAppendPointer append);

  // Calls `done` once the identity is known, or known not to come.
  void Init(InitDone done);

  // Refuses what was not sent and all that comes, and cancels what is on its way.
  void Close();

 private:
  enum class Phase { kNew, kInit, kReady, kDraining, kEnded };

  bool named() const { return !options_.name.empty(); }
  // Whether another batch may be sent. What counts is the oldest one without an outcome, not how
  // many have none: the server would forget it behind so many newer ones.
  bool MaySend() const {
    return phase_ == Phase::kReady &&
           (outstanding_.empty() ||
            sent_ - outstanding_.front()->number < options_.outstanding_max);
  }

  // Sends what may be sent, once all that was posted has been taken.
  void SchedulePump(Duration delay = Duration(0));
  void Pump();
  void StartInit();
  void OnInit(const Result<v1::InitProducerResponse>& result);

  void StartCall(const ProducerBatchPointer& batch);
  void OnAnswer(const ProducerBatchPointer& batch, Result<v1::AppendResponse> result);
  void OnFailed(const ProducerBatchPointer& batch, Error error);
  // Decides a batch that failed for good.
  void Conclude(const ProducerBatchPointer& batch);
  // What the decision over a batch lets happen to those behind it.
  void Advance();
  bool IsBehindGap(const ProducerBatch& batch) const;
  // It was sent, and is proven not to be in the log.
  bool IsAbsent(const PendingAppendPointer& append) const;
  void NoteAbsent(const ProducerBatchPointer& batch);
  void NoteGap(const ProducerBatch& batch);
  // Takes the batch off, and decides its appends; each gets what `outcome` makes of the number of
  // records before it.
  void DecideAll(const ProducerBatchPointer& batch,
                 const std::function<AppendOutcome(int64_t)>& outcome);
  void Drain(Resync resync);
  void OnDrained();
  void End(Error error);

  void Decide(const PendingAppendPointer& append, AppendOutcome outcome);
  void OnDeadline(const PendingAppendPointer& append);

  ClientCore& core_;
  const PartitionName partition_;
  const ProducerOptions options_;
  const std::shared_ptr<ProducerBudget> budget_;

  Phase phase_ = Phase::kNew;
  ProducerIdentity identity_;
  std::vector<InitDone> init_waiters_;
  // Why the lane has ended, or why it has no identity yet.
  std::optional<Error> error_;
  bool pump_scheduled_ = false;
  // The question for an identity, while it is on its way.
  std::weak_ptr<CallFlow> init_call_;

  // Appends that were not sent, or were proven absent. Bounded by the budget.
  std::deque<PendingAppendPointer> queue_;
  // In the order of their sequence numbers; at most options_.outstanding_max.
  std::deque<ProducerBatchPointer> outstanding_;
  int64_t next_sequence_ = 0;
  // Batches so far.
  int64_t sent_ = 0;

  // Of a drain: how it will end, the first sequence number that is not and will not be in the log
  // in this epoch, and whether an attempt of an absent batch may still be on its way.
  Resync resync_ = Resync::kNone;
  std::optional<int64_t> gap_;
  bool floating_ = false;
  // Batches that were resent under another stamp since the last commit.
  int resent_ = 0;
  // Nothing may be sent any more.
  bool closed_ = false;
};

}  // namespace quorum::client

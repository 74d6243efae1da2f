// ProducerStates: what a log says of its producers (KIP-98), up to its end, and whether an append
// follows from it. It is a function of the log alone, so that every replica, and every life of one,
// judges alike: no clock is read, and what is forgotten is forgotten at the same batch everywhere.
//
// Two layers: the state as of a *committed* offset, which is stored now and then, and an overlay of
// the changes of each batch above it, which truncation takes back. A new process starts from what
// was stored and notes the batches above it again (storage/layout/recover.h).
//
// Guarantees:
//   1. noting the batches of [0, end) in order gives the same state as storing at any committed
//      offset in between and noting the rest, and the same as noting more and truncating to end;
//   2. at most limits.producers_max producers are known: the one whose newest batch or binding lies
//      furthest back goes first;
//   3. a producer is forgotten at the first batch of another one whose time is limits.expiry or
//      more after its own newest. Time is the highest base_timestamp_ms so far, which the leaders'
//      clocks give and records cannot;
//   4. an id of a name that is not bound (any more) is never taken: it stays fenced for ever.
//
// Thread: a plain value.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "service/base/ids.h"
#include "service/base/producer.h"
#include "service/base/record_batch.h"
#include "service/shard/producer_limits.h"

namespace quorum::shard {

// Whether a batch of a producer may follow the log.
struct ProducerVerdict {
  enum class Kind {
    kNew,
    // It is in the log, at `base_offset`.
    kDuplicate,
    // A newer epoch of the producer has been seen: `epoch`.
    kFenced,
    // It does not follow the producer's last batch; `expected_sequence` does. A lower sequence than
    // that was in the log, longer ago than is remembered.
    kOutOfOrder,
    // The producer is not known, or not in that epoch, and this is no beginning.
    kUnknownProducer,
  };
  Kind kind = Kind::kNew;
  Offset base_offset;
  int32_t epoch = 0;
  int64_t expected_sequence = 0;
  // True for ever once all below this offset is committed. Of kNew: that it is no duplicate.
  Offset rests_on;
};

class ProducerStates {
 public:
  // Goes on from what was stored; a new log starts from nothing.
  explicit ProducerStates(const ProducerLimits& limits, StoredProducers stored = {});

  // Whether `record_count` records with that stamp may follow at the end.
  ProducerVerdict Judge(const ProducerStamp& stamp, uint32_t record_count) const;

  // Whether "no record of a client lies at or above `expected`, and the log reaches it" fails at
  // the end: then the offset below which all must be committed before that may be told. Empty when
  // it holds.
  std::optional<Offset> WhyNotExpected(Offset expected) const;

  // What binds `name` in a record at `offset`: the same id and the next epoch, or, for an unknown
  // name and at the last epoch, a new id.
  ProducerBinding NextBinding(const std::string& name, Offset offset) const;

  // The batch at the end has been appended.
  void Note(const BatchHeader& batch);
  // The log was cut.
  void TruncateTo(Offset end);
  // Everything below `offset` is committed and will never be cut.
  void Commit(Offset offset);

  // What has changed in the committed state since this was asked last, for the disk.
  struct Unwritten {
    ProducerSummary summary;
    std::vector<ProducerState> changed;
    std::vector<int64_t> removed;
  };
  Unwritten TakeUnwritten();

  // Where the overlay begins.
  Offset committed() const { return committed_.offset; }
  Offset end() const { return end_.offset; }
  // The offset after the last record of a client, and the time, at the end.
  Offset data_end() const { return end_.data_end; }
  int64_t timestamp_ms() const { return end_.timestamp_ms; }
  // The offset after the last record of a client that is committed.
  Offset committed_data_end() const { return committed_.data_end; }
  // At the end; null when not known.
  const ProducerState* Find(int64_t id) const;
  size_t size() const { return producers_.size(); }
  // At the end, by id.
  const std::map<int64_t, ProducerState>& producers() const { return producers_; }

 private:
  // What a batch did to one producer.
  struct Change {
    int64_t id = 0;
    std::optional<ProducerState> before;
    std::optional<ProducerState> after;
  };
  struct Step {
    bool control = false;
    // As of the batch's end.
    ProducerSummary after;
    std::vector<Change> changes;
  };

  void Apply(const ProducerStamp& stamp, const BatchHeader& batch, Step* step);
  void Apply(Offset offset, const ProducerBinding& binding, Step* step);
  // Forgets whom time and the bound ask for.
  void Forget(Step* step);
  // Replaces the producer, or removes it, and notes that.
  void Replace(int64_t id, std::optional<ProducerState> after, Step* step);
  void Set(int64_t id, std::optional<ProducerState> state);
  // The end of the newest uncommitted batch that did something to the producer.
  Offset RestsOn(int64_t id) const;

  ProducerLimits limits_;
  int64_t expiry_ms_;
  ProducerSummary committed_;
  ProducerSummary end_;
  // At the end.
  std::map<int64_t, ProducerState> producers_;
  std::map<std::string, int64_t> names_;
  // Whose newest batch lies furthest back comes first.
  std::set<std::pair<Offset, int64_t>> by_age_;
  // One per uncommitted batch, in order.
  std::deque<Step> overlay_;
  // Committed, not yet taken; empty for those that were removed.
  std::map<int64_t, std::optional<ProducerState>> unwritten_;
};

}  // namespace quorum::shard

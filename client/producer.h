// Producer: appends to partitions, each append exactly once, through failovers.
//
//   QuorumClient client(options);
//   Producer producer(client);
//   producer.Append({{"orders", 0}, {RecordOf("k1", "v1")}}, [](AppendOutcome outcome) {
//     if (auto* committed = std::get_if<Committed>(&outcome)) Note(committed->base_offset);
//   });
//   producer.Flush(std::chrono::seconds(30));
//
//   // As AppendSpec::expected_offset says: only if nothing was appended since.
//   AppendSpec claim{{"orders", 0}, {RecordOf("owner", "me")}};
//   claim.expected_offset = where_my_replay_ended;
//   AppendOutcome outcome = producer.AppendAndWait(claim);
//
// Each append has one outcome, at its deadline at the latest:
//   Committed  in the log for ever, once, at the offset told.
//   Refused    not in the log, now or later.
//   Unknown    perhaps in the log. The producer has repeated the append with the same sequence
//              number until the deadline, which is safe, and got no answer that decides it.
//
// What it guarantees for each partition:
//   1. Appends get into the log in the order of the Append calls, as far as they are committed. A
//      refused one does not hold up those behind it: make them conditional if it should.
//   2. An append is in the log once, however often it was sent, within the server's memory of
//      producers (a day without an append).
//   3. The records of one append are in one batch.
//
// Batches form by themselves, without a timer: while the most batches allowed are on their way,
// appends gather, and leave together when one of them is answered.
//
// A *named* producer is the only one of its name on a partition: from Init, or its first append,
// on, all earlier producers of that name get PRODUCER_FENCED. That is the last thing that happens
// to a named producer: every later append is refused at once. It ends in the same way when it gives
// up an append with an unknown outcome, because only a new producer, with the next epoch, could go
// on safely: read the log, then make another one. A producer without a name takes another epoch
// itself, when nothing of the old one is on its way any more, and goes on.
//
// Memory is bounded: Append waits while ProducerOptions::buffer_bytes_max is used up, for as long
// as the append's own deadline allows, and then the append is refused with nothing sent.
//
// Thread: any. Callbacks run on the client's thread and must not block; they may call Append, which
// does not wait there: without room it refuses. The producer has no thread. Ownership: it may
// outlive the client, whose end decides all appends. The destructor does too: what was not sent is
// refused, what is on its way becomes unknown; call Flush before it. It must not run in a callback.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "client/append_outcome.h"
#include "client/append_spec.h"
#include "client/client_options.h"
#include "client/error.h"
#include "client/partition_name.h"
#include "service/base/time.h"

namespace quorum::client {

class ProducerCore;
class QuorumClient;

struct ProducerOptions {
  // Empty: nobody else is fenced. At most 255 bytes.
  std::string name = "";

  // Bytes of memory for appends without an outcome, over all partitions. A single append may be
  // larger when no other one is held.
  size_t buffer_bytes_max = size_t{32} << 20;

  // What a batch of several appends may have, in bytes on the wire, of the server's 4 MiB. A single
  // append may be larger.
  size_t batch_bytes_max = size_t{512} << 10;

  // Batches on their way per partition, counted from the oldest without an outcome. Range [1, 5]:
  // the server remembers the last five.
  int outstanding_max = 5;

  // The deadline of appends that name none, from Append on. Positive.
  Duration timeout = std::chrono::seconds(30);

  // Called on the client's thread before a batch is sent again; must not block. May be empty.
  std::function<void(const RetryNotice&)> on_retry = nullptr;
};

// What the producer is to a partition.
struct ProducerIdentity {
  int64_t producer_id = 0;
  int32_t epoch = 0;
  // How long the partition remembers a producer that appends nothing; empty when not told.
  std::optional<Duration> expiry;
};

class Producer {
 public:
  using Done = std::function<void(AppendOutcome)>;

  // Asks nothing of the cluster. CHECKs the ranges of `options`.
  explicit Producer(const QuorumClient& client, ProducerOptions options = {});
  ~Producer();
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  // Makes the producer known to the partition, which the first append would do otherwise. A named
  // one shuts out its predecessors by that: what they had not in the log by then never gets there.
  // Returns the identity that is in use already where there is one. Waits; not in a callback.
  Result<ProducerIdentity> Init(const PartitionName& partition);

  // Appends, and calls `done` once. Waits for room in memory, see above.
  void Append(AppendSpec spec, Done done);

  // Appends, and waits for the outcome. Not in a callback.
  AppendOutcome AppendAndWait(AppendSpec spec);

  // Waits until all appends that began before this call have had their outcomes, `time_max` at
  // most; false when that time was too short. What is appended meanwhile is not waited for. Not in
  // a callback.
  bool Flush(Duration time_max);

 private:
  const std::shared_ptr<ProducerCore> core_;
};

}  // namespace quorum::client

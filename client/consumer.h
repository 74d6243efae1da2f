// Consumer: reads one or several partitions, each in order, through failovers.
//
//   QuorumClient client(options);
//   Consumer consumer(client);
//   consumer.Add({{"orders", 0}, /*start=*/Remembered()});
//   for (;;) {
//     std::optional<ConsumerEvent> next = consumer.Next(std::chrono::seconds(1));
//     if (!next.has_value()) continue;  // Nothing new yet.
//     std::visit(Overloaded{
//         [&](TailRecords& records) {
//           for (TailRecord& record : records.records) Apply(record);
//           Remember(records.next_offset);       // All that a restart needs.
//         },
//         [&](TailReplayed&) { BeginToAct(); },  // The state is up to date.
//         [&](TailReset& reset) { if (reset.snapshot) ForgetEverything(); },
//         [&](TailProgress&) {},
//         [&](TailEnd&) {},
//         [&](TailFailure& failure) { Report(failure.error); },
//     }, next->event);
//   }
//
// What it guarantees for each partition, whatever node or connection is lost:
//   1. Only committed records, in the order of the log, none skipped and none twice. A stream that
//      breaks, ends or falls silent is resumed where the delivered records ended, at any node that
//      can be reached.
//   2. TailReplayed comes once, after every record whose append was acknowledged before Add, as far
//      as the partition's leader knows. It waits for a leader; the records do not.
//   3. TailReset stands between the records before and after it. Records were removed by then.
//   4. TailEnd or TailFailure is the partition's last event. The other partitions go on.
//
// Partitions take turns, so that a busy one does not hold up the others. There is no order between
// partitions. Memory is bounded: when the application does not call Next, the streams stop reading,
// and gRPC's flow control stops the server.
//
// A partition fails when no node serves it for ConsumerOptions::timeout, or when repeating cannot
// help: UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE, CANCELLED after the client's end. Add it
// again at `next_offset` to go on.
//
// Thread: Next from one thread at a time, Add and Remove from any. The consumer has no thread; its
// streams run on the client's. Ownership: it may outlive the client, whose end fails its
// partitions. The destructor ends the streams, and must not run in a callback of the client.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "client/client_options.h"
#include "client/consumer_event.h"
#include "client/partition_name.h"
#include "client/tail_spec.h"
#include "service/base/mutex.h"
#include "service/base/time.h"

namespace quorum::client {

class ConsumerQueue;
class QuorumClient;
class TailFlow;
struct ClientCore;

struct ConsumerOptions {
  // Bytes of memory for events that wait for Next, over all partitions. Each partition may go
  // beyond its equal share by one message, of at most 16 MiB.
  size_t buffer_bytes_max = size_t{32} << 20;

  // How long a partition may find no node that serves it. Range (0, 24 h].
  Duration timeout = std::chrono::seconds(30);

  // Called on the client's thread before a stream is tried again; must not block. May be empty.
  std::function<void(const RetryNotice&)> on_retry = nullptr;
};

class Consumer {
 public:
  explicit Consumer(const QuorumClient& client, ConsumerOptions options = {});
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Begins to read the partition. One that is read already is begun anew, and its events that were
  // not delivered are dropped. CHECKs that the client lives.
  void Add(const TailSpec& spec);

  // Ends the partition: no event of it is delivered from now on. Nothing when it is not read.
  void Remove(const PartitionName& partition);

  // The next event; waits for it, `time_max` at most. Empty when none came in that time, and at
  // once when there is none and `time_max` is 0.
  std::optional<ConsumerEvent> Next(Duration time_max);

 private:
  struct Reading;

  void End(const Reading& reading);

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<ConsumerQueue> queue_;
  const ConsumerOptions options_;
  Mutex mutex_;
  std::map<PartitionName, std::unique_ptr<Reading>> readings_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::client

// TailReader: reads one partition in order, through failovers.
//
//   std::unique_ptr<TailReader> reader = client.Tail(spec);
//   for (;;) {
//     std::optional<TailEvent> event = reader->Next(std::chrono::seconds(1));
//     if (!event.has_value()) continue;  // Nothing new yet.
//     if (const auto* records = std::get_if<TailRecords>(&*event)) {
//       for (const TailRecord& record : records->records) Apply(record);
//       Remember(records->next_offset);  // All that a restart needs.
//     }
//     if (std::holds_alternative<TailEnd>(*event)) break;
//     if (const auto* failure = std::get_if<TailFailure>(&*event)) return failure->error;
//   }
//
// A stream that breaks is resumed at the next offset, without gap or repeat, at any node that can
// be reached. It fails when no node serves it for CallOptions::timeout, or when repeating cannot
// help: an unknown topic, an offset out of range.
//
// Thread: Next from one thread at a time. The destructor ends the tail; it may come after the
// client's.

#pragma once

#include <memory>
#include <optional>

#include "client/tail_event.h"
#include "service/base/time.h"

namespace quorum::client {

struct ClientCore;
class TailFlow;
class TailQueue;

class TailReader {
 public:
  // Made by QuorumClient::Tail.
  TailReader(std::shared_ptr<ClientCore> core, std::shared_ptr<TailFlow> flow,
             std::shared_ptr<TailQueue> queue);
  ~TailReader();
  TailReader(const TailReader&) = delete;
  TailReader& operator=(const TailReader&) = delete;

  // The next event; waits for it, `time_max` at most. Nothing follows TailEnd or TailFailure.
  std::optional<TailEvent> Next(Duration time_max);

 private:
  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<TailFlow> flow_;
  const std::shared_ptr<TailQueue> queue_;
};

}  // namespace quorum::client

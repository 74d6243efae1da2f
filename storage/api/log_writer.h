// LogWriter: the one way from a shard to the disk.
//
// Thread: Submit is called by any shard thread and never blocks. Completions run on the writer's
// own thread, or inside the simulator's step; they must only post to the shard's mailbox.

#pragma once

#include <functional>

#include "storage/api/write_set.h"

namespace quorum::storage {

class LogWriter {
 public:
  virtual ~LogWriter() = default;

  // Queues `set`. `on_durable` runs once the set, and every set submitted before it by anybody, is
  // synced, and for an exact_floor set once the acked floor covers it too. A failed write or sync
  // never completes: it ends the process, because a failed sync cannot be repeated.
  virtual void Submit(WriteSet set, std::function<void()> on_durable) = 0;
};

}  // namespace quorum::storage

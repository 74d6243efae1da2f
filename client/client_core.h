// ClientCore: what all calls of one client share. Everything but the loop's Post belongs to the
// loop's thread.

#pragma once

#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "client/channel_pool.h"
#include "client/client_options.h"
#include "client/event_loop.h"
#include "client/metadata_cache.h"
#include "client/system_clock.h"
#include "service/base/prng.h"

namespace quorum::client {

class CallFlow;

// What has more to end than its calls when the client ends.
class Closable {
 public:
  virtual ~Closable() = default;

  // Starts nothing from now on, and ends what it has. On the loop's thread; may come twice.
  virtual void Close() = 0;
};

struct ClientCore {
  ClientCore(ClientOptions client_options, uint64_t seed, std::vector<std::string> bootstrap)
      : options(std::move(client_options)),
        prng(seed),
        cache(std::move(bootstrap)),
        loop(clock),
        pool(loop) {}

  const ClientOptions options;
  const SystemClock clock;
  Prng prng;
  MetadataCache cache;
  EventLoop loop;
  ChannelPool pool;

  // The calls that have not finished, so that the client's end can cancel them.
  std::set<std::shared_ptr<CallFlow>> flows;
  // What was made from the client and lives.
  std::set<std::shared_ptr<Closable>> closables;
  // Set at the client's end: calls fail at once from then on, and `drained` runs after the last.
  bool closing = false;
  std::function<void()> drained;
  // DescribeCluster is asked for leaders' addresses no earlier than this.
  MonoTime refresh_after = MonoTime::min();
};

}  // namespace quorum::client

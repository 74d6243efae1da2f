// NodeHealth: what a node says of itself to probes (docs: health names). Liveness is strictly local
// and never depends on other nodes. Readiness is reached when the catalog has been read up to its
// watermark, this process is registered in it, every replica that it assigns to this node is open,
// and each that votes has been in step with its leader: whoever restarts nodes one after the other
// may then take the next. From then on it is lost by a drain, by a catalog that cannot be
// understood, by a loop that stands still, and while a replica lags for long behind its leader. A
// replica without a leader, as when a quorum is lost elsewhere, takes nothing away.
//
//   ""  liveness     the loops run
//   startup          the data directory is open and served
//   readiness        caught up, and not draining
//   quorum.v1.*      LogService and AdminService as readiness; VoterService and ObserverService as
//                    liveness, because others must reach a node that is still catching up
//
// Thread: Update from one thread at a time; live and ready from any.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "service/base/time.h"

namespace quorum::server {

struct HealthInputs {
  // Since the oldest newest round of the node's loops.
  Duration oldest_round = Duration::zero();
  // The catalog was read up to its watermark, and knows this very process.
  bool caught_up = false;
  // Replicas that the catalog assigns to this node, but for that of the catalog itself; how many
  // replicas are open and in step, or need not be; and the voters that are not.
  size_t assigned = 0;
  size_t in_step = 0;
  size_t catching_up = 0;
  // How long the worst voter has been behind its leader.
  Duration lag = Duration::zero();
  bool catalog_failed = false;
  bool draining = false;
};

class NodeHealth {
 public:
  // A loop without a new round for this long stands still. Ten times what it takes at rest.
  static constexpr Duration kStandstill = std::chrono::seconds(10);
  // A replica that is behind for longer takes readiness away, and gives it back below the other.
  // Apart from each other, and far above the time-outs, so that load does not make it flap.
  static constexpr Duration kLagMax = std::chrono::seconds(30);
  static constexpr Duration kLagOver = std::chrono::seconds(5);

  // Told of each service by name, first and whenever its answer changes.
  using Publish = std::function<void(const std::string& service, bool serving)>;

  explicit NodeHealth(Publish publish);

  // Everything that is ever said.
  static std::vector<std::string> Names();

  // True when the node became ready just now.
  bool Update(const HealthInputs& inputs);

  bool live() const { return live_; }
  bool ready() const { return ready_; }

 private:
  void Say(const std::string& service, bool serving);

  const Publish publish_;
  std::map<std::string, bool> said_;
  // Everything was in step once; what the catalog assigns later does not take readiness away.
  bool was_ready_ = false;
  bool lags_ = false;
  std::atomic<bool> live_{true};
  std::atomic<bool> ready_{false};
};

}  // namespace quorum::server

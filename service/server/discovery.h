// Discovery: how a node finds the leader of `__metadata` when its own replica knows none: it asks
// the bootstrap nodes in turn (Metadata), one at a time. What it hears goes to the address book and
// to the replica, which then fetches by itself. A node that just joined has no other way in; an old
// one takes it when all its peers have moved.
//
// Thread: Ask from one thread; completions run on gRPC's. `parts` outlive the object.

#pragma once

#include <grpcpp/channel.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "quorum/v1/observer.pb.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "service/shard/client_calls.h"
#include "service/transport/address_book.h"
#include "service/transport/outstanding_calls.h"

namespace quorum::server {

// What one Metadata answer says about where `__metadata` is.
struct Discovered {
  std::vector<std::pair<NodeId, std::string>> addresses;
  // The leader first, where the answer knows it.
  std::vector<ReplicaKey> peers;
};

// `asked` is the address that answered; it counts for the responder when the catalog has none.
Discovered ReadMetadata(const v1::MetadataResponse& response, const std::string& asked);

// Whether this node's replica of `__metadata` needs nobody else to find its leader. One that has
// read no voters yet knows only the leader that it was told, whose disk may be gone for ever.
bool FindsItsWay(const shard::PartitionDescription& metadata, bool leader_reachable);

class Discovery {
 public:
  struct Parts {
    transport::AddressBook& addresses;
    // Hands peers to this node's replica of `__metadata`; any thread.
    std::function<void(std::vector<ReplicaKey>)> introduce;
  };

  Discovery(std::string cluster_id, NodeId self, std::vector<std::string> bootstrap, Parts parts);

  // Asks the next node, unless an answer is still out. Returns at once.
  void Ask();

  // Cancels what is out. Asks nobody afterwards.
  void Shutdown() { calls_.CancelAndWait(); }

 private:
  const std::shared_ptr<grpc::Channel>& ChannelTo(const std::string& address);
  void OnAnswer(const v1::MetadataResponse& response, const std::string& asked);

  const std::string cluster_id_;
  const NodeId self_;
  const std::vector<std::string> bootstrap_;
  const Parts parts_;
  size_t next_ = 0;
  // By address; as many as the bootstrap list has.
  std::map<std::string, std::shared_ptr<grpc::Channel>> channels_;
  Mutex mutex_;
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  transport::OutstandingCalls calls_;
};

}  // namespace quorum::server

// PeerChannels: this node's connections to the others. Each purpose has a connection of its own, so
// that an election never waits behind megabytes of records.
//
// Thread: any. No lock is held while gRPC is called.

#pragma once

#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/transport/address_book.h"

namespace quorum::transport {

enum class ChannelUse {
  // Vote, BeginQuorumEpoch, EndQuorumEpoch, RegisterBroker: small and urgent.
  kControl,
  // Fetch.
  kFetch,
  // Calls of clients on their one hop to the leader.
  kForward,
};

class PeerChannels {
 public:
  // `addresses` must outlive this.
  explicit PeerChannels(const AddressBook& addresses) : addresses_(addresses) {}

  // The channel to the node, made when it is first asked for and made anew when the address has
  // changed. Null when the address is not known. Connecting happens later, by itself.
  std::shared_ptr<grpc::Channel> Get(NodeId node, ChannelUse use);

 private:
  struct Entry {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
  };

  const AddressBook& addresses_;
  Mutex mutex_;
  // One per node and use: bounded by the cluster.
  std::map<std::pair<NodeId, ChannelUse>, Entry> channels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport

// AddressBook: where nodes can be reached. Filled from the bootstrap flags, then from the catalog;
// the newest word wins. An address is a gRPC target, `host:port`.
//
// Thread: any.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"

namespace quorum::transport {

class AddressBook {
 public:
  void Set(NodeId node, const std::string& address) {
    MutexLock lock(&mutex_);
    addresses_[node] = address;
  }

  // Empty when nobody has said where the node is.
  std::optional<std::string> Find(NodeId node) const {
    MutexLock lock(&mutex_);
    const auto found = addresses_.find(node);
    if (found == addresses_.end()) return std::nullopt;
    return found->second;
  }

 private:
  mutable Mutex mutex_;
  std::map<NodeId, std::string> addresses_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quorum::transport

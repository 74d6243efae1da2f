// QuorumCluster: what the benchmark does to a Quorum cluster besides writing: makes topics and asks
// who leads. Node N is the Nth address.
//
// Errors: what does not work in time ends the process, with what the server said.
// Thread: one; every method blocks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quorum/v1/admin.grpc.pb.h"
#include "service/base/time.h"
#include "tests/bench/channels.h"

namespace quorum::bench {

class QuorumCluster {
 public:
  // `clock` outlives the object.
  QuorumCluster(const Clock& clock, const std::vector<std::string>& addresses);

  // With three replicas. A topic that is there already is left alone. Waits for nodes to register.
  void CreateTopic(const std::string& topic, uint32_t partitions);

  // For each partition the index in `addresses` of the node that leads it, with its epoch
  // committed; -1 where none of `nodes` says so of itself.
  std::vector<int> Leaders(const std::string& topic, uint32_t partitions,
                           const std::vector<size_t>& nodes);

  // As Leaders of all nodes, once every partition has one.
  std::vector<int> WaitForLeaders(const std::string& topic, uint32_t partitions);

  std::vector<size_t> AllNodes() const;

 private:
  const Clock& clock_;
  std::vector<std::unique_ptr<v1::AdminService::Stub>> nodes_;
};

}  // namespace quorum::bench

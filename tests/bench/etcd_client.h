// etcd through its own gRPC API, driven by the same callers and loop as Quorum.
//
// Thread: as Caller; the other functions block.

#pragma once

#include <grpcpp/channel.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "service/base/time.h"
#include "tests/bench/caller.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

// The index of the address whose member leads, once one does. Ends the process after 60 s.
size_t WaitForEtcdLeader(const Clock& clock, const std::vector<std::string>& addresses);

// Put for one record a call, else Txn, which etcd proposes as one entry; 128 at most.
std::unique_ptr<Caller> MakeEtcdCaller(const std::shared_ptr<grpc::Channel>& channel, Shape shape,
                                       Duration time_max);

}  // namespace quorum::bench

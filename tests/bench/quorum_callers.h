// Callers that append to Quorum through the generated stubs, with nothing of our client library in
// between.
//
// Thread: as Caller.

#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "service/base/time.h"
#include "tests/bench/caller.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

// Append: one batch of `shape.records` for one partition.
std::unique_ptr<Caller> MakeAppendCaller(const std::shared_ptr<grpc::Channel>& channel,
                                         const std::string& topic, uint32_t partition, Shape shape,
                                         Duration time_max);

// AppendBatch: one batch of `shape.records` for each of the partitions. A call fails when one of
// the entries is not committed.
std::unique_ptr<Caller> MakeAppendBatchCaller(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& topic,
                                              std::vector<uint32_t> partitions, Shape shape,
                                              Duration time_max);

}  // namespace quorum::bench

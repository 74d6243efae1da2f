// Callers that append to Quorum through the generated stubs, with nothing of our client library in
// between.
//
// Thread: as Caller.

#pragma once

#include <grpcpp/channel.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/base/time.h"
#include "tests/bench/caller.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

// A new producer id. Dies when the cluster gives none.
int64_t InitProducer(const std::shared_ptr<grpc::Channel>& channel, Duration time_max);

// Append: one batch of `shape.records` for one partition; idempotent with a producer id, which no
// other caller may have.
std::unique_ptr<Caller> MakeAppendCaller(const std::shared_ptr<grpc::Channel>& channel,
                                         const std::string& topic, uint32_t partition, Shape shape,
                                         std::optional<int64_t> producer_id, Duration time_max);

// AppendBatch: one batch of `shape.records` for each of the partitions. A call fails when one of
// the entries is not committed.
std::unique_ptr<Caller> MakeAppendBatchCaller(const std::shared_ptr<grpc::Channel>& channel,
                                              const std::string& topic,
                                              std::vector<uint32_t> partitions, Shape shape,
                                              Duration time_max);

}  // namespace quorum::bench

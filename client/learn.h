// What answers teach about nodes and leaders, taken into the cache.
//
// Thread: that of the cache.

#pragma once

#include <optional>

#include "client/error.h"
#include "client/metadata_cache.h"
#include "quorum/v1/admin.pb.h"
#include "quorum/v1/log.pb.h"

namespace quorum::client {

// Answers that are not named below teach nothing.
template <typename Response>
void Learn(const Response&, MetadataCache*) {}

void Learn(const PartitionName& partition, const v1::AppendResponse& response,
           MetadataCache* cache);
void Learn(const v1::ListOffsetsResponse& response, MetadataCache* cache);
void Learn(const v1::DescribeTopicResponse& response, MetadataCache* cache);
void Learn(const v1::DescribeQuorumResponse& response, MetadataCache* cache);
void Learn(const v1::DescribeClusterResponse& response, MetadataCache* cache);

// The first failed entry of the answer, where there is one.
std::optional<Error> EntryError(const v1::ListOffsetsResponse& response);

}  // namespace quorum::client

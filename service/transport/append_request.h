// What a client wants appended, checked, and as the shard takes it. Both Append and each entry of
// an AppendBatch become an AppendEntry.
//
// Errors of this file are refusals: nothing was executed.
//
// Thread: any.

#pragma once

#include <optional>
#include <string>
#include <variant>

#include "quorum/v1/log.pb.h"
#include "service/base/record_batch.h"
#include "service/base/time.h"
#include "service/transport/call_error.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

// Points into the client's request, which lives as long as the call.
struct AppendEntry {
  const std::string& topic;
  std::optional<uint32_t> partition;
  const google::protobuf::RepeatedPtrField<v1::Record>& records;
  std::optional<int64_t> leader_epoch;
  std::optional<int64_t> expected_offset;
  // Null when nobody in particular appends. Points into the request too.
  const v1::ProducerStamp* producer = nullptr;
};

AppendEntry EntryOf(const v1::AppendRequest& request);
AppendEntry EntryOf(const std::string& topic, const v1::AppendBatchRequest::Partition& partition);

// What is wrong with the entry in itself; empty when nothing is. Sizes are judged by EncodeRecords.
std::optional<CallError> CheckEntry(const AppendEntry& entry);

// The records as one batch that was made at `now_ms`, with its producer's stamp, or why they cannot
// be one.
std::variant<BatchDraft, CallError> EncodeRecords(const AppendEntry& entry,
                                                  const ClientLimits& limits, int64_t now_ms);

}  // namespace quorum::transport

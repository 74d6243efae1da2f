#include "service/shard/shard_api.h"

#include "service/base/check.h"
#include "service/shard/client_calls.h"

namespace quorum::shard {

Lane LaneOf(PartitionId partition, uint32_t lane_count) {
  CHECK_GT(lane_count, 0u);
  // The finaliser of splitmix64 over topic and index: every node, version and platform must agree.
  uint64_t mixed = partition.topic.value() * 0x9e3779b97f4a7c15ULL + partition.index;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
  mixed ^= mixed >> 31;
  return Lane(static_cast<uint32_t>(mixed % lane_count));
}

const char* Name(AppendRefusal refusal) {
  switch (refusal) {
    case AppendRefusal::kNone:
      return "NONE";
    case AppendRefusal::kProducerFenced:
      return "PRODUCER_FENCED";
    case AppendRefusal::kOutOfOrderSequence:
      return "OUT_OF_ORDER_SEQUENCE";
    case AppendRefusal::kUnknownProducer:
      return "UNKNOWN_PRODUCER";
    case AppendRefusal::kOffsetMismatch:
      return "OFFSET_MISMATCH";
  }
  return "INVALID";
}

}  // namespace quorum::shard

// ListOffsets as PartitionGather asks it.

#pragma once

#include "quorum/v1/log.pb.h"
#include "service/raft/trace.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

struct ListOffsetsTraits {
  using Request = v1::ListOffsetsRequest;
  using Response = v1::ListOffsetsResponse;

  static const char* Method() { return "/quorum.v1.LogService/ListOffsets"; }

  static void FillTopic(const controller::TopicView& /*view*/, Response::Topic* /*topic*/) {}

  // A leader that has not committed in its epoch yet does not know where its log ends.
  static bool Fill(const ClientParts& /*parts*/, const shard::PartitionDescription& own, bool stale,
                   Response::Partition* answer) {
    if (own.quarantine.has_value()) return false;
    if (!stale && !own.high_watermark.has_value()) return false;
    answer->set_earliest_offset(own.log_start.value());
    answer->set_latest_offset(own.high_watermark.value_or(own.exposed).value());
    if (own.hint.epoch > Epoch(0)) answer->set_leader_epoch(own.hint.epoch.value());
    if (own.hint.leader.has_value()) answer->set_leader_id(own.hint.leader->id.value());
    answer->set_stale(stale);
    return true;
  }

  static void Finish(const ClientParts& /*parts*/, Response* /*response*/) {}
};

}  // namespace quorum::transport

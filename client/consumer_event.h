// ConsumerEvent: what a consumer delivers, and of which partition.
//
// Thread: plain values.

#pragma once

#include "client/partition_name.h"
#include "client/tail_event.h"

namespace quorum::client {

struct ConsumerEvent {
  PartitionName partition;
  TailEvent event;
};

}  // namespace quorum::client

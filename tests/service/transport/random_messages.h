// Random peer messages for the tests of the codec and of the peer transport.

#pragma once

#include <cstdint>
#include <string>

#include "service/base/ids.h"
#include "service/base/prng.h"
#include "service/base/record_batch.h"
#include "service/shard/peer_messages.h"
#include "service/transport/envelope_codec.h"

namespace quorum::transport {

inline constexpr uint32_t kLaneCount = 16;

// Node 2 of the cluster "c-1".
Receiver TestReceiver();

ReplicaKey RandomKey(Prng* prng);
shard::Envelope RandomEnvelope(Prng* prng);
// Any of the four kinds.
shard::LaneRequest RandomRequest(Prng* prng);
shard::HeaderAnswer RandomHeaderAnswer(Prng* prng, bool vote);
shard::FetchAnswer RandomFetchAnswer(Prng* prng);
// A batch of that partition with values of `value_size` bytes.
RecordBatch MakeBatch(PartitionId partition, Offset offset, size_t value_size);

// Everything that the message says, as text, so that two can be compared.
std::string Print(const shard::LaneRequest& request);
std::string Print(const shard::LaneResponse& response);

}  // namespace quorum::transport

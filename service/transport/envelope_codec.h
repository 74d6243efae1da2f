// The parts that all peer messages share: identities, the envelope, and the walk over
// topics[] -> partitions[].
//
// Thread: any.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "quorum/v1/common.pb.h"
#include "service/base/ids.h"
#include "service/shard/peer_messages.h"

namespace quorum::transport {

// Who receives: what a request is checked against, and what fills the fields of `to` that its
// sender left out because it does not know them.
struct Receiver {
  std::string cluster_id;
  ReplicaKey self;
  uint32_t lane_count = 0;
};

void EncodeIdentity(const shard::PeerIdentity& identity, v1::PeerIdentity* message);
void EncodeEnvelope(const shard::Envelope& envelope, v1::Envelope* message);

// A complete identity: node id and directory id are required, the incarnation only as the message
// says. INVALID_ARGUMENT otherwise.
absl::StatusOr<shard::PeerIdentity> DecodeIdentity(const v1::PeerIdentity& message);

// A complete envelope. FAILED_PRECONDITION for a cluster id that is missing or another one;
// INVALID_ARGUMENT for everything else that is wrong, the lane included.
absl::StatusOr<shard::Envelope> DecodeEnvelope(const v1::Envelope& message,
                                               const Receiver& receiver);

// The leader that an entry names, if it names one. INVALID_ARGUMENT when half of it is missing.
template <typename Partition>
absl::StatusOr<std::optional<ReplicaKey>> DecodeLeader(const Partition& partition) {
  if (!partition.has_leader_id() && !partition.has_leader_directory_id()) {
    return std::optional<ReplicaKey>();
  }
  const std::optional<DirectoryId> directory =
      DirectoryId::FromBytes(partition.leader_directory_id());
  if (partition.leader_id() < 1 || !directory.has_value()) {
    return absl::InvalidArgumentError("a leader is named by half a key");
  }
  return std::optional<ReplicaKey>(ReplicaKey{NodeId(partition.leader_id()), *directory});
}

template <typename Partition>
void EncodeLeader(const std::optional<ReplicaKey>& leader, Partition* partition) {
  if (!leader.has_value()) return;
  partition->set_leader_id(leader->id.value());
  partition->set_leader_directory_id(leader->directory.ToBytes());
}

// Adds each entry to `message`, in order; neighbours of one topic share a Topic. `encode` fills in
// everything but the name of the partition.
template <typename Entries, typename Message, typename Encode>
void EncodeEntries(const Entries& entries, Message* message, const Encode& encode) {
  typename Message::Topic* topic = nullptr;
  for (const auto& entry : entries) {
    if (topic == nullptr || topic->topic_id() != entry.partition.topic.value()) {
      topic = message->add_topics();
      topic->set_topic_id(entry.partition.topic.value());
    }
    typename Message::Partition* partition = topic->add_partitions();
    partition->set_partition(entry.partition.index);
    encode(entry, partition);
  }
}

// Calls `decode` for each entry, in order, until it fails. INVALID_ARGUMENT for an entry that does
// not say which partition it is about.
template <typename Message, typename Decode>
absl::Status DecodeEntries(const Message& message, const Decode& decode) {
  for (const auto& topic : message.topics()) {
    if (topic.topic_id() == 0) return absl::InvalidArgumentError("topic_id is missing");
    for (const auto& partition : topic.partitions()) {
      if (!partition.has_partition()) {
        return absl::InvalidArgumentError("an entry has no partition index");
      }
      const PartitionId id{TopicId(topic.topic_id()), partition.partition()};
      absl::Status status = decode(id, partition);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace quorum::transport

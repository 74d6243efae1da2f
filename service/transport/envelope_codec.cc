#include "service/transport/envelope_codec.h"

#include "absl/strings/str_cat.h"

namespace quorum::transport {
namespace {

std::optional<Incarnation> DecodeIncarnation(const v1::PeerIdentity& message) {
  if (!message.has_incarnation()) return std::nullopt;
  return Incarnation(message.incarnation());
}

// The receiver as the sender knows it: what it leaves out matches anybody, so it is us.
absl::StatusOr<shard::PeerIdentity> DecodeTo(const v1::PeerIdentity& message,
                                             const Receiver& receiver) {
  shard::PeerIdentity to{receiver.self, DecodeIncarnation(message)};
  if (message.node_id() < 0) return absl::InvalidArgumentError("envelope.to.node_id is negative");
  if (message.node_id() > 0) to.key.id = NodeId(message.node_id());
  if (message.directory_id().empty()) return to;
  const std::optional<DirectoryId> directory = DirectoryId::FromBytes(message.directory_id());
  if (!directory.has_value()) {
    return absl::InvalidArgumentError("envelope.to.directory_id is not 16 bytes, or all zero");
  }
  to.key.directory = *directory;
  return to;
}

}  // namespace

void EncodeIdentity(const shard::PeerIdentity& identity, v1::PeerIdentity* message) {
  message->set_node_id(identity.key.id.value());
  if (!identity.key.directory.IsZero()) {
    message->set_directory_id(identity.key.directory.ToBytes());
  }
  if (identity.incarnation.has_value()) message->set_incarnation(identity.incarnation->value());
}

void EncodeEnvelope(const shard::Envelope& envelope, v1::Envelope* message) {
  message->set_cluster_id(envelope.cluster_id);
  EncodeIdentity(envelope.from, message->mutable_from());
  EncodeIdentity(envelope.to, message->mutable_to());
  message->set_lane(envelope.lane.value());
}

absl::StatusOr<shard::PeerIdentity> DecodeIdentity(const v1::PeerIdentity& message) {
  const std::optional<DirectoryId> directory = DirectoryId::FromBytes(message.directory_id());
  if (message.node_id() < 1 || !directory.has_value()) {
    return absl::InvalidArgumentError("an identity needs a node id and a directory id of 16 bytes");
  }
  return shard::PeerIdentity{ReplicaKey{NodeId(message.node_id()), *directory},
                             DecodeIncarnation(message)};
}

absl::StatusOr<shard::Envelope> DecodeEnvelope(const v1::Envelope& message,
                                               const Receiver& receiver) {
  if (message.cluster_id() != receiver.cluster_id) {
    return absl::FailedPreconditionError("this node belongs to another cluster");
  }
  absl::StatusOr<shard::PeerIdentity> from = DecodeIdentity(message.from());
  if (!from.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("envelope.from: ", from.status().message()));
  }
  if (!from->incarnation.has_value() || from->incarnation->value() == 0) {
    return absl::InvalidArgumentError("envelope.from.incarnation is missing");
  }
  if (*from->incarnation >= shard::kIncarnationLimit) {
    return absl::InvalidArgumentError("envelope.from.incarnation is out of range");
  }
  absl::StatusOr<shard::PeerIdentity> to = DecodeTo(message.to(), receiver);
  if (!to.ok()) return to.status();
  if (!message.has_lane() || message.lane() >= receiver.lane_count) {
    return absl::InvalidArgumentError("envelope.lane is missing or out of range");
  }
  return shard::Envelope{message.cluster_id(), *from, *to, Lane(message.lane())};
}

}  // namespace quorum::transport

#include "service/transport/controller_codec.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/transport/envelope_codec.h"
#include "service/transport/peer_refusal.h"

namespace quorum::transport {
namespace {

using controller::ControllerError;

constexpr std::pair<ControllerError, v1::ErrorCode> kCodes[] = {
    {ControllerError::kNone, v1::ERROR_CODE_NONE},
    {ControllerError::kNotController, v1::ERROR_CODE_NOT_LEADER_OR_FOLLOWER},
    {ControllerError::kInvalidRequest, v1::ERROR_CODE_INVALID_REQUEST},
    {ControllerError::kThrottled, v1::ERROR_CODE_THROTTLING_QUOTA_EXCEEDED},
    {ControllerError::kShuttingDown, v1::ERROR_CODE_BROKER_NOT_AVAILABLE},
    {ControllerError::kOutcomeUnknown, v1::ERROR_CODE_REQUEST_TIMED_OUT},
    {ControllerError::kFencedIncarnation, v1::ERROR_CODE_FENCED_INCARNATION},
    {ControllerError::kDuplicateRegistration, v1::ERROR_CODE_DUPLICATE_BROKER_REGISTRATION},
    {ControllerError::kInconsistentLaneCount, v1::ERROR_CODE_INCONSISTENT_LANE_COUNT},
};

// The controller's own words, or ours where it has none.
std::string WordsOf(const controller::ControllerResult& result, std::string ours) {
  return result.message.empty() ? std::move(ours) : result.message;
}

CallError NotController(const controller::ControllerResult& result) {
  if (!result.hint.leader.has_value()) {
    return CallError(v1::ERROR_REASON_LEADER_NOT_AVAILABLE,
                     WordsOf(result, "no controller is known"));
  }
  CallError error(v1::ERROR_REASON_NOT_LEADER, WordsOf(result, "this node is not the controller"));
  error.With("leader_id", result.hint.leader->id.value());
  error.With("leader_epoch", result.hint.epoch.value());
  return error;
}

CallError TopicExists(const controller::ControllerResult& result, const std::string& topic) {
  CallError error(v1::ERROR_REASON_TOPIC_ALREADY_EXISTS,
                  WordsOf(result, absl::StrCat("the topic ", topic, " exists")));
  error.With("topic", topic);
  if (result.topic != nullptr) error.With("topic_id", absl::StrCat(result.topic->id.value()));
  return error;
}

}  // namespace

CallError ErrorOf(const controller::ControllerResult& result, const std::string& topic) {
  switch (result.error) {
    case ControllerError::kNotController:
      return NotController(result);
    case ControllerError::kInvalidRequest:
      if (!result.field.empty()) return InvalidField(result.field, result.message);
      return CallError(v1::ERROR_REASON_INVALID_REQUEST,
                       WordsOf(result, "the request is out of range"));
    case ControllerError::kTopicAlreadyExists:
      return TopicExists(result, topic);
    case ControllerError::kUnknownTopic:
      return CallError(v1::ERROR_REASON_UNKNOWN_TOPIC_OR_PARTITION,
                       WordsOf(result, absl::StrCat("there is no topic ", topic)))
          .With("topic", topic);
    case ControllerError::kInternalTopic:
      return CallError(v1::ERROR_REASON_INTERNAL_TOPIC,
                       WordsOf(result, absl::StrCat(topic, " belongs to the system")));
    case ControllerError::kNotEnoughNodes:
      return CallError(v1::ERROR_REASON_NOT_ENOUGH_NODES,
                       WordsOf(result, "too few nodes are alive for that many replicas"))
          .With("live_nodes", result.live_nodes);
    case ControllerError::kThrottled:
      return Throttled(WordsOf(result, "the controller has too much to do"));
    case ControllerError::kShuttingDown:
      return CallError(v1::ERROR_REASON_SHUTTING_DOWN,
                       WordsOf(result, "this node is shutting down"));
    case ControllerError::kOutcomeUnknown:
      return CallError(v1::ERROR_REASON_REQUEST_TIMED_OUT,
                       WordsOf(result, "the change may have been made: read it back"));
    case ControllerError::kNone:
    case ControllerError::kFencedIncarnation:
    case ControllerError::kDuplicateRegistration:
    case ControllerError::kInconsistentLaneCount:
      break;
  }
  return CallError(v1::ERROR_REASON_INTERNAL, WordsOf(result, "the controller's answer is odd"));
}

v1::ErrorCode ToErrorCode(ControllerError error) {
  for (const auto& [ours, code] : kCodes) {
    if (ours == error) return code;
  }
  return v1::ERROR_CODE_UNKNOWN_SERVER_ERROR;
}

ControllerError ToControllerError(v1::ErrorCode code) {
  for (const auto& [ours, known] : kCodes) {
    if (known == code) return ours;
  }
  return ControllerError::kOutcomeUnknown;
}

void EncodeEndpoint(const controller::NodeEndpoint& endpoint, v1::Endpoint* message) {
  message->set_listener(endpoint.listener);
  message->set_address(endpoint.address);
}

v1::RegisterBrokerRequest EncodeRegistration(const controller::BrokerRegistration& registration) {
  v1::RegisterBrokerRequest message;
  for (const controller::NodeEndpoint& endpoint : registration.endpoints) {
    EncodeEndpoint(endpoint, message.add_endpoints());
  }
  message.set_lane_count(registration.lane_count);
  message.set_software_version(registration.software_version);
  return message;
}

controller::BrokerRegistration DecodeRegistration(const v1::RegisterBrokerRequest& message,
                                                  const shard::PeerIdentity& from) {
  controller::BrokerRegistration registration;
  registration.key = from.key;
  registration.incarnation = from.incarnation.value_or(Incarnation(0));
  for (const v1::Endpoint& endpoint : message.endpoints()) {
    registration.endpoints.push_back({endpoint.listener(), endpoint.address()});
  }
  registration.lane_count = message.lane_count();
  registration.software_version = message.software_version();
  return registration;
}

void EncodeResult(const controller::ControllerResult& result, v1::RegisterBrokerResponse* message) {
  message->set_error(ToErrorCode(result.error));
  EncodeLeader(result.hint.leader, message);
  if (result.hint.epoch > Epoch(0)) message->set_leader_epoch(result.hint.epoch.value());
  if (result.error == ControllerError::kNone) {
    message->set_catalog_offset(result.catalog_offset.value());
  }
}

controller::ControllerResult DecodeResult(const v1::RegisterBrokerResponse& message) {
  controller::ControllerResult result;
  result.error = ToControllerError(message.error());
  const absl::StatusOr<std::optional<ReplicaKey>> leader = DecodeLeader(message);
  // A malformed hint is none.
  if (leader.ok()) result.hint.leader = *leader;
  result.hint.epoch = Epoch(message.leader_epoch());
  result.catalog_offset = Offset(message.catalog_offset());
  return result;
}

}  // namespace quorum::transport

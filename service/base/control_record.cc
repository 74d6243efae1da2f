#include "service/base/control_record.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "service/base/check.h"
#include "service/base/overloaded.h"
#include "service/base/wire.h"

namespace quorum {
namespace {

// Field numbers of quorum.v1.ControlRecord and the messages in it.
constexpr uint32_t kLeaderChangeField = 1;
constexpr uint32_t kVotersRecordField = 2;
constexpr uint32_t kProducerBindingField = 6;
constexpr uint32_t kLeaderField = 1;
constexpr uint32_t kVoterKeysField = 2;
constexpr uint32_t kGrantingKeysField = 3;
constexpr uint32_t kVotersField = 1;
constexpr uint32_t kKeyField = 1;
constexpr uint32_t kEndpointField = 2;
constexpr uint32_t kProducerNameField = 1;
constexpr uint32_t kProducerIdField = 2;
constexpr uint32_t kProducerEpochField = 3;
constexpr uint32_t kNodeIdField = 1;
constexpr uint32_t kDirectoryIdField = 2;

std::string EncodeKey(const ReplicaKey& key) {
  CHECK_GE(key.id, NodeId(1));
  CHECK(!key.directory.IsZero());
  std::string out;
  wire::AddSignedVarint(kNodeIdField, key.id.value(), &out);
  wire::AddBytes(kDirectoryIdField, key.directory.ToBytes(), &out);
  return out;
}

std::string EncodeLeaderChange(const LeaderChange& change) {
  std::string out;
  wire::AddBytes(kLeaderField, EncodeKey(change.leader), &out);
  for (const ReplicaKey& key : change.voters) {
    wire::AddBytes(kVoterKeysField, EncodeKey(key), &out);
  }
  for (const ReplicaKey& key : change.granting_voters) {
    wire::AddBytes(kGrantingKeysField, EncodeKey(key), &out);
  }
  return out;
}

std::string EncodeVoters(const VoterSet& voters) {
  CHECK(!voters.empty());
  std::string out;
  for (const Voter& voter : voters) {
    std::string encoded;
    wire::AddBytes(kKeyField, EncodeKey(voter.key), &encoded);
    if (!voter.endpoint.empty()) wire::AddBytes(kEndpointField, voter.endpoint, &encoded);
    wire::AddBytes(kVotersField, encoded, &out);
  }
  return out;
}

bool IsLegalName(absl::string_view name) {
  return !name.empty() && name.size() <= kProducerNameMax;
}

std::string EncodeBinding(const ProducerBinding& binding) {
  CHECK(IsLegalName(binding.name)) << binding.name.size();
  CHECK_GE(binding.producer_id, kNamedProducerIds);
  CHECK_GE(binding.producer_epoch, 0);
  std::string out;
  wire::AddBytes(kProducerNameField, binding.name, &out);
  wire::AddSignedVarint(kProducerIdField, binding.producer_id, &out);
  wire::AddSignedVarint(kProducerEpochField, binding.producer_epoch, &out);
  return out;
}

std::string EncodeControlRecord(const ControlRecord& record) {
  std::string out;
  std::visit(Overloaded{[&out](const LeaderChange& change) {
                          wire::AddBytes(kLeaderChangeField, EncodeLeaderChange(change), &out);
                        },
                        [&out](const VotersRecord& voters) {
                          wire::AddBytes(kVotersRecordField, EncodeVoters(voters.voters), &out);
                        },
                        [&out](const ProducerBinding& binding) {
                          wire::AddBytes(kProducerBindingField, EncodeBinding(binding), &out);
                        }},
             record);
  return out;
}

// The decoders below are empty when the bytes are malformed, when a part that must be there is
// missing and when a part that may be there once is there twice. Fields of a later version are
// passed over.

std::optional<ReplicaKey> DecodeKey(absl::string_view bytes) {
  std::optional<NodeId> id;
  std::optional<DirectoryId> directory;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == kNodeIdField) {
      const bool legal = field.type == wire::Type::kVarint && field.value >= 1 &&
                         field.value <= uint64_t{std::numeric_limits<int32_t>::max()};
      if (id.has_value() || !legal) return std::nullopt;
      id = NodeId(static_cast<int32_t>(field.value));
    } else if (field.number == kDirectoryIdField) {
      if (directory.has_value() || field.type != wire::Type::kLengthDelimited) return std::nullopt;
      directory = DirectoryId::FromBytes(field.content);
      if (!directory.has_value()) return std::nullopt;
    }
  }
  if (!reader.ok() || !id.has_value() || !directory.has_value()) return std::nullopt;
  return ReplicaKey{*id, *directory};
}

std::optional<LeaderChange> DecodeLeaderChange(absl::string_view bytes) {
  std::optional<ReplicaKey> leader;
  LeaderChange change;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number > kGrantingKeysField) continue;
    if (field.type != wire::Type::kLengthDelimited) return std::nullopt;
    const std::optional<ReplicaKey> key = DecodeKey(field.content);
    if (!key.has_value()) return std::nullopt;
    if (field.number == kLeaderField) {
      if (leader.has_value()) return std::nullopt;
      leader = key;
    } else {
      (field.number == kVoterKeysField ? change.voters : change.granting_voters).push_back(*key);
    }
  }
  if (!reader.ok() || !leader.has_value()) return std::nullopt;
  change.leader = *leader;
  return change;
}

std::optional<Voter> DecodeVoter(absl::string_view bytes) {
  std::optional<ReplicaKey> key;
  std::optional<std::string> endpoint;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number > kEndpointField) continue;
    if (field.type != wire::Type::kLengthDelimited) return std::nullopt;
    if (field.number == kKeyField) {
      if (key.has_value()) return std::nullopt;
      key = DecodeKey(field.content);
      if (!key.has_value()) return std::nullopt;
    } else {
      if (endpoint.has_value()) return std::nullopt;
      endpoint = std::string(field.content);
    }
  }
  if (!reader.ok() || !key.has_value()) return std::nullopt;
  return Voter{*key, endpoint.value_or("")};
}

std::optional<VotersRecord> DecodeVoters(absl::string_view bytes) {
  std::vector<Voter> voters;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != kVotersField) continue;
    if (field.type != wire::Type::kLengthDelimited) return std::nullopt;
    std::optional<Voter> voter = DecodeVoter(field.content);
    if (!voter.has_value()) return std::nullopt;
    voters.push_back(*std::move(voter));
  }
  if (!reader.ok() || voters.empty() || !VoterSet::IsValid(voters)) return std::nullopt;
  return VotersRecord{VoterSet(std::move(voters))};
}

// One field of a binding into `number`; false when it is of the wrong type, there twice, or above
// `max`.
bool TakeNumber(const wire::Field& field, uint64_t max, std::optional<uint64_t>* number) {
  if (field.type != wire::Type::kVarint || number->has_value() || field.value > max) return false;
  *number = field.value;
  return true;
}

std::optional<ProducerBinding> DecodeBinding(absl::string_view bytes) {
  std::optional<std::string> name;
  std::optional<uint64_t> id;
  std::optional<uint64_t> epoch;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == kProducerNameField) {
      if (name.has_value() || field.type != wire::Type::kLengthDelimited) return std::nullopt;
      name = std::string(field.content);
    } else if (field.number == kProducerIdField) {
      if (!TakeNumber(field, std::numeric_limits<int64_t>::max(), &id)) return std::nullopt;
    } else if (field.number == kProducerEpochField) {
      if (!TakeNumber(field, std::numeric_limits<int32_t>::max(), &epoch)) return std::nullopt;
    }
  }
  const bool whole = reader.ok() && name.has_value() && id.has_value() && epoch.has_value();
  if (!whole || !IsLegalName(*name) || *id < uint64_t{kNamedProducerIds}) return std::nullopt;
  return ProducerBinding{*std::move(name), static_cast<int64_t>(*id), static_cast<int32_t>(*epoch)};
}

std::optional<ControlRecord> DecodeOneOf(const wire::Field& field) {
  switch (field.number) {
    case kLeaderChangeField:
      return DecodeLeaderChange(field.content);
    case kVotersRecordField:
      return DecodeVoters(field.content);
    default:
      return DecodeBinding(field.content);
  }
}

std::optional<ControlRecord> DecodeControlRecord(absl::string_view bytes) {
  std::optional<ControlRecord> record;
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != kLeaderChangeField && field.number != kVotersRecordField &&
        field.number != kProducerBindingField) {
      continue;
    }
    if (record.has_value() || field.type != wire::Type::kLengthDelimited) return std::nullopt;
    record = DecodeOneOf(field);
    if (!record.has_value()) return std::nullopt;
  }
  if (!reader.ok()) return std::nullopt;
  return record;
}

}  // namespace

BatchDraft EncodeControlBatch(const std::vector<ControlRecord>& records, int64_t timestamp_ms) {
  CHECK(!records.empty());
  BatchDraft draft;
  draft.record_count = static_cast<uint32_t>(records.size());
  draft.base_timestamp_ms = timestamp_ms;
  draft.max_timestamp_ms = timestamp_ms;
  draft.control = true;
  for (const ControlRecord& record : records) {
    wire::AddBytes(kControlRecordsField, EncodeControlRecord(record), &draft.records);
  }
  return draft;
}

absl::StatusOr<std::vector<ControlRecord>> DecodeControlBatch(const RecordBatch& batch) {
  CHECK(batch.control()) << "not a control batch at offset " << batch.base_offset();
  std::vector<ControlRecord> records;
  records.reserve(batch.record_count());
  wire::Reader reader(batch.bytes());
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != kControlRecordsField) continue;
    std::optional<ControlRecord> record = DecodeControlRecord(field.content);
    if (!record.has_value()) {
      return absl::DataLossError(absl::StrCat("control batch at offset ",
                                              batch.base_offset().value(), ": record ",
                                              records.size(), " is malformed or of unknown kind"));
    }
    records.push_back(*std::move(record));
  }
  CHECK(reader.ok());
  CHECK_EQ(records.size(), batch.record_count());
  return records;
}

}  // namespace quorum

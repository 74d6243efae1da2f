#include "storage/layout/value_codec.h"

#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/base/crc32c.h"
#include "service/base/wire.h"

namespace quorum::storage {
namespace {

constexpr size_t kCrcSize = 4;

absl::Status Damaged(ValuePlace place, absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat(NameOf(place.family), " key ", absl::BytesToHexString(place.key), ": ", what));
}

uint32_t CrcOf(ValuePlace place, absl::string_view versioned) {
  const char family = static_cast<char>(place.family);
  uint32_t crc = Crc32c(absl::string_view(&family, 1));
  crc = Crc32cExtend(crc, place.key);
  return Crc32cExtend(crc, versioned);
}

std::string EncodeReplicaKey(const ReplicaKey& key) {
  std::string out;
  wire::AddVarint(1, static_cast<uint64_t>(key.id.value()), &out);
  wire::AddFixed64(2, key.directory.high, &out);
  wire::AddFixed64(3, key.directory.low, &out);
  return out;
}

// The decoders of payload parts return false for what no encoder writes.
bool DecodeReplicaKey(absl::string_view bytes, ReplicaKey* key) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == wire::Type::kVarint) {
      key->id = NodeId(static_cast<int32_t>(field.value));
    } else if (field.number == 2 && field.type == wire::Type::kFixed64) {
      key->directory.high = field.value;
    } else if (field.number == 3 && field.type == wire::Type::kFixed64) {
      key->directory.low = field.value;
    } else {
      return false;
    }
  }
  return reader.ok() && key->id.value() >= 0 && !key->directory.IsZero();
}

std::string EncodeVoterList(const VoterSet& voters) {
  std::string out;
  for (const Voter& voter : voters) {
    std::string entry;
    wire::AddBytes(1, EncodeReplicaKey(voter.key), &entry);
    wire::AddBytes(2, voter.endpoint, &entry);
    wire::AddBytes(1, entry, &out);
  }
  return out;
}

bool DecodeVoter(absl::string_view bytes, Voter* voter) {
  wire::Reader reader(bytes);
  wire::Field field;
  bool has_key = false;
  while (reader.Next(&field)) {
    if (field.type != wire::Type::kLengthDelimited) return false;
    if (field.number == 1) {
      has_key = DecodeReplicaKey(field.content, &voter->key);
      if (!has_key) return false;
    } else if (field.number == 2) {
      voter->endpoint = std::string(field.content);
    } else {
      return false;
    }
  }
  return reader.ok() && has_key;
}

bool DecodeVoterList(absl::string_view bytes, VoterSet* voters) {
  wire::Reader reader(bytes);
  wire::Field field;
  std::vector<Voter> list;
  while (reader.Next(&field)) {
    if (field.number != 1 || field.type != wire::Type::kLengthDelimited) return false;
    Voter voter;
    if (!DecodeVoter(field.content, &voter)) return false;
    list.push_back(std::move(voter));
  }
  if (!reader.ok() || !VoterSet::IsValid(list)) return false;
  *voters = VoterSet(std::move(list));
  return true;
}

bool DecodeElectionField(const wire::Field& field, ElectionState* election,
                         std::optional<Epoch>* voted_epoch) {
  if (field.type == wire::Type::kVarint) {
    const Epoch epoch(static_cast<int64_t>(field.value));
    if (field.number == 1) {
      election->epoch = epoch;
    } else if (field.number == 4) {
      *voted_epoch = epoch;
    } else {
      return false;
    }
    return true;
  }
  ReplicaKey key;
  if (field.type != wire::Type::kLengthDelimited || !DecodeReplicaKey(field.content, &key)) {
    return false;
  }
  if (field.number == 2) {
    election->leader = key;
  } else if (field.number == 3) {
    election->voted = key;
  } else {
    return false;
  }
  return true;
}

bool DecodeElectionPayload(absl::string_view bytes, ElectionState* election) {
  wire::Reader reader(bytes);
  wire::Field field;
  std::optional<Epoch> voted_epoch;
  while (reader.Next(&field)) {
    if (!DecodeElectionField(field, election, &voted_epoch)) return false;
  }
  if (!reader.ok() || election->epoch.value() < 0) return false;
  // A vote is for the state's own epoch, or the state is damaged.
  if (!election->voted.has_value()) return !voted_epoch.has_value();
  return voted_epoch == election->epoch;
}

bool DecodeBirthPayload(absl::string_view bytes, BirthRecord* birth) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == wire::Type::kVarint) {
      birth->tombstone = field.value != 0;
    } else if (field.number == 2 && field.type == wire::Type::kLengthDelimited) {
      VoterSet voters;
      if (!DecodeVoterList(field.content, &voters)) return false;
      birth->initial_voters = std::move(voters);
    } else {
      return false;
    }
  }
  return reader.ok();
}

bool DecodeIdentityPayload(absl::string_view bytes, NodeIdentity* identity) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number == 1 && field.type == wire::Type::kLengthDelimited) {
      identity->cluster_id = std::string(field.content);
    } else if (field.number == 2 && field.type == wire::Type::kVarint) {
      identity->node = NodeId(static_cast<int32_t>(field.value));
    } else if (field.number == 3 && field.type == wire::Type::kFixed64) {
      identity->directory.high = field.value;
    } else if (field.number == 4 && field.type == wire::Type::kFixed64) {
      identity->directory.low = field.value;
    } else if (field.number == 5 && field.type == wire::Type::kVarint) {
      identity->lanes = static_cast<uint32_t>(field.value);
    } else {
      return false;
    }
  }
  return reader.ok() && !identity->directory.IsZero() && identity->lanes >= 1;
}

// Opens a value and reads its payload with `decode`.
template <typename T, typename Decode>
absl::StatusOr<T> DecodeWith(ValuePlace place, absl::string_view value, Decode decode) {
  absl::StatusOr<std::string> payload = OpenValue(place, value);
  if (!payload.ok()) return payload.status();
  T result;
  if (!decode(*payload, &result)) return Damaged(place, "the payload is malformed");
  return result;
}

}  // namespace

std::string SealValue(ValuePlace place, absl::string_view payload) {
  std::string value;
  value.reserve(1 + payload.size() + kCrcSize);
  value.push_back(static_cast<char>(kValueVersion));
  value.append(payload.data(), payload.size());
  const uint32_t crc = CrcOf(place, value);
  for (size_t i = 0; i < kCrcSize; ++i) value.push_back(static_cast<char>(crc >> (8 * i)));
  return value;
}

absl::StatusOr<std::string> OpenValue(ValuePlace place, absl::string_view value) {
  if (value.size() < 1 + kCrcSize) return Damaged(place, "the value is too short");
  const absl::string_view versioned = value.substr(0, value.size() - kCrcSize);
  uint32_t crc = 0;
  for (size_t i = 0; i < kCrcSize; ++i) {
    crc |= uint32_t{static_cast<unsigned char>(value[versioned.size() + i])} << (8 * i);
  }
  if (crc != CrcOf(place, versioned)) return Damaged(place, "the checksum does not match");
  const auto version = static_cast<unsigned char>(versioned.front());
  if (version != kValueVersion) {
    return absl::UnimplementedError(absl::StrCat(
        NameOf(place.family), " key ", absl::BytesToHexString(place.key), " has version ",
        static_cast<int>(version), ", this program knows ", static_cast<int>(kValueVersion)));
  }
  return std::string(versioned.substr(1));
}

std::string EncodeNumber(ValuePlace place, int64_t number) {
  CHECK_GE(number, 0);
  std::string payload;
  wire::AddVarint(1, static_cast<uint64_t>(number), &payload);
  return SealValue(place, payload);
}

absl::StatusOr<int64_t> DecodeNumber(ValuePlace place, absl::string_view value) {
  return DecodeWith<int64_t>(place, value, [](absl::string_view payload, int64_t* number) {
    wire::Reader reader(payload);
    wire::Field field;
    if (!reader.Next(&field) || field.number != 1 || field.type != wire::Type::kVarint) {
      return false;
    }
    *number = static_cast<int64_t>(field.value);
    return *number >= 0 && !reader.Next(&field) && reader.ok();
  });
}

std::string EncodeElection(ValuePlace place, const ElectionState& election) {
  std::string payload;
  wire::AddVarint(1, static_cast<uint64_t>(election.epoch.value()), &payload);
  if (election.leader.has_value()) {
    wire::AddBytes(2, EncodeReplicaKey(*election.leader), &payload);
  }
  if (election.voted.has_value()) {
    wire::AddBytes(3, EncodeReplicaKey(*election.voted), &payload);
    wire::AddVarint(4, static_cast<uint64_t>(election.epoch.value()), &payload);
  }
  return SealValue(place, payload);
}

absl::StatusOr<ElectionState> DecodeElection(ValuePlace place, absl::string_view value) {
  return DecodeWith<ElectionState>(place, value, DecodeElectionPayload);
}

std::string EncodeVoters(ValuePlace place, const VoterSet& voters) {
  return SealValue(place, EncodeVoterList(voters));
}

absl::StatusOr<VoterSet> DecodeVoters(ValuePlace place, absl::string_view value) {
  return DecodeWith<VoterSet>(place, value, DecodeVoterList);
}

std::string EncodeBirth(ValuePlace place, const BirthRecord& birth) {
  std::string payload;
  wire::AddVarint(1, birth.tombstone ? 1 : 0, &payload);
  if (birth.initial_voters.has_value()) {
    wire::AddBytes(2, EncodeVoterList(*birth.initial_voters), &payload);
  }
  return SealValue(place, payload);
}

absl::StatusOr<BirthRecord> DecodeBirth(ValuePlace place, absl::string_view value) {
  return DecodeWith<BirthRecord>(place, value, DecodeBirthPayload);
}

std::string EncodeIdentity(ValuePlace place, const NodeIdentity& identity) {
  std::string payload;
  wire::AddBytes(1, identity.cluster_id, &payload);
  wire::AddVarint(2, static_cast<uint64_t>(identity.node.value()), &payload);
  wire::AddFixed64(3, identity.directory.high, &payload);
  wire::AddFixed64(4, identity.directory.low, &payload);
  wire::AddVarint(5, identity.lanes, &payload);
  return SealValue(place, payload);
}

absl::StatusOr<NodeIdentity> DecodeIdentity(ValuePlace place, absl::string_view value) {
  return DecodeWith<NodeIdentity>(place, value, DecodeIdentityPayload);
}

}  // namespace quorum::storage

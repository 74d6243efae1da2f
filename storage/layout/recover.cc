#include "storage/layout/recover.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "storage/layout/key_codec.h"
#include "storage/layout/replica_recovery.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {
namespace {

using Births = std::map<PartitionId, ReplicaRecords>;

std::string Name(PartitionId partition) {
  return absl::StrCat(partition.topic.value(), "-", partition.index);
}

// Reads one node record. A formatted directory has them all.
template <typename T, typename Decode>
std::optional<StoreError> ReadRecord(const Image& image, absl::string_view key, Decode decode,
                                     T* result) {
  std::string value;
  const absl::Status found = image.Get(ColumnFamily::kDefault, key, &value);
  if (absl::IsNotFound(found)) {
    return DamageError(kCorrupt, absl::StrCat("The node record ", key.substr(1), " is missing."));
  }
  if (!found.ok()) return ErrorOfStatus(found);
  auto decoded = decode(ValuePlace{ColumnFamily::kDefault, key}, value);
  if (!decoded.ok()) return ErrorOfStatus(decoded.status());
  *result = *std::move(decoded);
  return std::nullopt;
}

// Takes one replica record in. Bad bounds and log starts are the replica's own damage.
std::optional<StoreError> TakeReplicaRecord(const Cursor& cursor, Births* births) {
  const std::optional<ParsedReplicaKey> key = ParseReplicaKey(cursor.key());
  if (!key.has_value()) return DamageError(kCorrupt, "A replica record has a malformed key.");
  const ValuePlace place{ColumnFamily::kDefault, cursor.key()};
  ReplicaRecords& records = (*births)[key->partition];
  if (key->field == ReplicaField::kBirth) {
    absl::StatusOr<BirthRecord> birth = DecodeBirth(place, cursor.value());
    if (!birth.ok()) return ErrorOfStatus(birth.status());
    records.birth = *std::move(birth);
    return std::nullopt;
  }
  const absl::StatusOr<int64_t> number = DecodeNumber(place, cursor.value());
  if (absl::IsUnimplemented(number.status())) return ErrorOfStatus(number.status());
  if (!number.ok()) {
    records.damage = std::string(number.status().message());
  } else if (key->field == ReplicaField::kLogStart) {
    records.log_start = Offset(*number);
  } else if (key->field == ReplicaField::kEndBound) {
    records.end_bound = Offset(*number);
  } else {
    records.high_watermark_bound = Offset(*number);
  }
  return std::nullopt;
}

std::optional<StoreError> ReadReplicaRecords(const Image& image, Births* births) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kDefault);
  const std::string prefix(1, kReplicaPrefix);
  for (cursor->Seek(prefix); cursor->Valid() && cursor->key().front() == kReplicaPrefix;
       cursor->Next()) {
    if (auto error = TakeReplicaRecord(*cursor, births)) return error;
  }
  if (!cursor->status().ok()) return ErrorOfStatus(cursor->status());
  for (const auto& [partition, records] : *births) {
    if (!records.birth.has_value()) {
      return DamageError(kCorrupt,
                         absl::StrCat("The birth of replica ", Name(partition), " is missing."));
    }
  }
  return std::nullopt;
}

std::optional<StoreError> ReadQuorumStates(const Image& image, Births* births) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(ColumnFamily::kQuorumState);
  for (cursor->Seek(""); cursor->Valid(); cursor->Next()) {
    const std::optional<PartitionId> partition = ParsePartitionKey(cursor->key());
    if (!partition.has_value() || births->count(*partition) == 0) {
      return DamageError(kCorrupt, "There is a quorum state of a replica that was never born.");
    }
    absl::StatusOr<ElectionState> election =
        DecodeElection({ColumnFamily::kQuorumState, cursor->key()}, cursor->value());
    if (!election.ok()) return ErrorOfStatus(election.status());
    (*births)[*partition].election = *std::move(election);
  }
  if (!cursor->status().ok()) return ErrorOfStatus(cursor->status());
  for (const auto& [partition, records] : *births) {
    if (!records.election.has_value()) {
      return DamageError(kQuorumStateMissing,
                         absl::StrCat("Replica ", Name(partition),
                                      " was born, but its quorum state is missing: it may have "
                                      "forgotten its votes."));
    }
  }
  return std::nullopt;
}

// Data of a replica that is not alive here means that its birth and quorum state were lost. Hops
// from partition to partition; a damaged block ends the hop quietly, its owner finds it.
std::optional<StoreError> CheckOwners(const Image& image, ColumnFamily family,
                                      const Births& births) {
  const std::unique_ptr<Cursor> cursor = image.NewCursor(family);
  cursor->Seek("");
  while (cursor->Valid()) {
    if (cursor->key().size() < kPartitionKeySize) {
      return DamageError(kCorrupt, absl::StrCat("A key of ", NameOf(family), " is malformed."));
    }
    const PartitionId partition = *ParsePartitionKey(cursor->key().substr(0, kPartitionKeySize));
    const auto found = births.find(partition);
    if (found == births.end() || found->second.birth->tombstone) {
      return DamageError(kQuorumStateMissing,
                         absl::StrCat("There is data of replica ", Name(partition), " in ",
                                      NameOf(family), ", which is not alive here."));
    }
    cursor->Seek(PartitionEndKey(partition));
  }
  return std::nullopt;
}

std::optional<StoreError> RecoverReplicas(const Image& image, const RecoveryBudget& budget,
                                          const Births& births, RecoveredStore* store) {
  const size_t share = budget.total_bytes / std::max<size_t>(births.size(), 1);
  const size_t tail_bytes = std::max(share, budget.replica_bytes_min);
  for (const auto& [partition, records] : births) {
    RecoveredReplica replica;
    if (auto error = RecoverReplica(image, partition, records, tail_bytes, &replica)) return error;
    store->replicas.push_back(std::move(replica));
  }
  return std::nullopt;
}

}  // namespace

std::optional<StoreError> ReadNodeRecords(const Image& image, RecoveredImage* result) {
  std::string value;
  const absl::Status marker = image.Get(ColumnFamily::kDefault, kFormattedKey, &value);
  if (absl::IsNotFound(marker)) {
    return IdentityError(kHalfFormatted,
                         "Formatting never finished. Wipe the directory and format it again.");
  }
  NodeIdentity formatted;
  NodeIdentity& node = result->store.node;
  if (auto error = ReadRecord(image, kFormattedKey, DecodeIdentity, &formatted)) return error;
  if (auto error = ReadRecord(image, kIdentityKey, DecodeIdentity, &node)) return error;
  if (formatted.directory != node.directory) {
    return DamageError(kCorrupt, "The formatted marker is of another directory.");
  }
  int64_t incarnation = 0;
  int64_t synced_number = 0;
  int64_t catalog_position = 0;
  if (auto error = ReadRecord(image, kIncarnationKey, DecodeNumber, &incarnation)) return error;
  if (auto error = ReadRecord(image, kSyncedNumberKey, DecodeNumber, &synced_number)) return error;
  if (auto error = ReadRecord(image, kCatalogPositionKey, DecodeNumber, &catalog_position)) {
    return error;
  }
  node.incarnation = Incarnation(static_cast<uint64_t>(incarnation));
  result->synced_number = static_cast<uint64_t>(synced_number);
  result->store.catalog_position = Offset(catalog_position);
  return std::nullopt;
}

std::optional<StoreError> CheckIdentity(const NodeIdentity& found,
                                        const ExpectedIdentity& expected) {
  if (found.cluster_id != expected.cluster_id) {
    return IdentityError(kClusterMismatch,
                         absl::StrCat("The directory belongs to cluster '", found.cluster_id,
                                      "', not to '", expected.cluster_id, "'."));
  }
  if (found.node != expected.node) {
    return IdentityError(kNodeMismatch,
                         absl::StrCat("The directory belongs to node ", found.node.value(),
                                      ", not to node ", expected.node.value(), "."));
  }
  return std::nullopt;
}

std::optional<StoreError> RecoverImage(const Image& image, const RecoveryBudget& budget,
                                       RecoveredImage* result) {
  *result = RecoveredImage();
  if (auto error = ReadNodeRecords(image, result)) return error;
  Births births;
  if (auto error = ReadReplicaRecords(image, &births)) return error;
  if (auto error = ReadQuorumStates(image, &births)) return error;
  for (const ColumnFamily family :
       {ColumnFamily::kLog, ColumnFamily::kLeaderEpochs, ColumnFamily::kVoters,
        ColumnFamily::kProducers, ColumnFamily::kSnapshots}) {
    if (auto error = CheckOwners(image, family, births)) return error;
  }
  return RecoverReplicas(image, budget, births, &result->store);
}

}  // namespace quorum::storage

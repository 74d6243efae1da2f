#include "storage/rocksdb/format.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "storage/layout/recover.h"
#include "storage/layout/write_encoder.h"
#include "storage/rocksdb/acked_floor.h"
#include "storage/rocksdb/data_directory.h"
#include "storage/rocksdb/rocks_database.h"

namespace quorum::storage {
namespace {

constexpr size_t kClusterIdSizeMax = 255;
constexpr uint32_t kLanesMax = 1024;

std::optional<StoreError> CheckRequest(const FormatRequest& request) {
  if (request.cluster_id.empty() || request.cluster_id.size() > kClusterIdSizeMax) {
    return ConfigError(kBadRequest, "The cluster id must have 1 to 255 characters.");
  }
  if (request.node.value() < 1) return ConfigError(kBadRequest, "The node id must be 1 or above.");
  if (request.directory.IsZero()) {
    return ConfigError(kBadRequest, "The directory id must not be zero.");
  }
  if (request.lanes < 1 || request.lanes > kLanesMax) {
    return ConfigError(kBadRequest, "The number of lanes must be 1 to 1024.");
  }
  if (!request.initial_voters.has_value()) return std::nullopt;
  if (!request.initial_voters->Contains(ReplicaKey{request.node, request.directory})) {
    return ConfigError(kBadRequest,
                       "The initial voters do not name this node under this directory id; a node "
                       "that is not one of them joins.");
  }
  return std::nullopt;
}

std::optional<StoreError> ReadFormatted(const std::string& directory, const FormatRequest& request,
                                        const RocksTuning& tuning, FormatResult* result) {
  std::unique_ptr<DirectoryLock> lock;
  if (auto error = DirectoryLock::Take(directory, &lock)) return error;
  if (!FileExists(DatabasePath(directory) + "/CURRENT")) {
    return IdentityError(kHalfFormatted,
                         absl::StrCat("Formatting of ", directory,
                                      " never finished, or its database is gone. Wipe it first."));
  }
  std::unique_ptr<RocksDatabase> database;
  if (auto error = RocksDatabase::OpenReadOnly(DatabasePath(directory), tuning, &database)) {
    return error;
  }
  RecoveredImage found;
  if (auto error = ReadNodeRecords(*database, &found)) return error;
  const NodeIdentity& node = found.store.node;
  if (auto error = CheckIdentity(node, {request.cluster_id, request.node})) return error;
  if (request.directory_given && request.directory != node.directory) {
    return IdentityError(
        kDirectoryMismatch,
        absl::StrCat("The directory is formatted under the id ", node.directory.ToString(), "."));
  }
  result->already_formatted = true;
  result->node = node;
  return std::nullopt;
}

std::optional<StoreError> WriteFormat(const std::string& directory, const FormatRequest& request,
                                      const RocksTuning& tuning, FormatResult* result) {
  FormatPlan plan;
  plan.identity.cluster_id = request.cluster_id;
  plan.identity.node = request.node;
  plan.identity.directory = request.directory;
  plan.identity.lanes = request.lanes;
  plan.initial_voters = request.initial_voters;

  if (auto error = MakeDirectory(DatabasePath(directory))) return error;
  std::unique_ptr<RocksDatabase> database;
  if (auto error = RocksDatabase::Create(DatabasePath(directory), tuning, DieOf, &database)) {
    return error;
  }
  RocksSink sink(database.get());
  EncodeFormat(plan, &sink);
  const rocksdb::Status status = database->Write(&sink);
  if (!status.ok()) return ErrorOfStatus(StatusOfRocks(status));
  result->node = plan.identity;
  return std::nullopt;
}

}  // namespace

std::optional<StoreError> Format(const std::string& directory, const FormatRequest& request,
                                 const RocksTuning& tuning, FormatResult* result) {
  *result = FormatResult();
  if (auto error = CheckRequest(request)) return error;
  DirectoryState state = DirectoryState::kMissing;
  if (auto error = InspectDirectory(directory, &state)) return error;
  if (state == DirectoryState::kOurs) return ReadFormatted(directory, request, tuning, result);
  if (state == DirectoryState::kForeign) {
    return ConfigError(kNotEmpty, absl::StrCat(directory, " holds other files."));
  }
  if (auto error = MakeDirectory(directory)) return error;
  // Also of a directory that somebody has made a moment ago.
  if (auto error = SyncParentOf(directory)) return error;
  std::unique_ptr<DirectoryLock> lock;
  if (auto error = DirectoryLock::Take(directory, &lock)) return error;
  if (auto error = AckedFloor::Create(FloorPath(directory), request.directory)) return error;
  if (auto error = SyncDirectory(directory)) return error;
  if (auto error = WriteFormat(directory, request, tuning, result)) return error;
  if (auto error = SyncDirectory(directory)) return error;
  // Last of all: a crash before it leaves a floor below the database, which is sound.
  std::unique_ptr<AckedFloor> floor;
  if (auto error = AckedFloor::Open(FloorPath(directory), &floor)) return error;
  return floor->Raise(1);
}

}  // namespace quorum::storage

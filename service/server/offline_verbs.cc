// The verbs that open a data directory without serving it.

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "service/server/entropy.h"
#include "service/server/exit.h"
#include "service/server/verbs.h"
#include "storage/layout/dump.h"
#include "storage/layout/store_error.h"
#include "storage/rocksdb/format.h"
#include "storage/rocksdb/read_only_store.h"
#include "storage/rocksdb/rocks_options.h"

namespace quorum::server {
namespace {

void PrintLine(const std::string& line) { std::cout << line << "\n"; }

std::optional<storage::StoreError> Dump(const DumpConfig& config) {
  std::unique_ptr<storage::ReadOnlyStore> store;
  if (auto error = storage::ReadOnlyStore::Open(config.data_dir, storage::RocksTuning(), &store)) {
    return error;
  }
  switch (config.subject) {
    case DumpSubject::kNode:
      return storage::DumpNode(store->database(), config.format, PrintLine);
    case DumpSubject::kQuorumState:
      return storage::DumpQuorumState(store->database(), config.partition, config.format,
                                      PrintLine);
    case DumpSubject::kLog: {
      storage::DumpLogRequest request;
      request.partition = *config.partition;
      request.from = config.from;
      request.batches_max = config.batches_max;
      return storage::DumpLog(store->database(), request, config.format, PrintLine);
    }
  }
  return std::nullopt;
}

}  // namespace

int RunFormat(FormatConfig config) {
  storage::FormatRequest& request = config.request;
  if (request.directory.IsZero()) request.directory = DrawDirectoryId();
  storage::FormatResult result;
  if (auto error = storage::Format(config.data_dir, request, storage::RocksTuning(), &result)) {
    return Report(*error);
  }
  const storage::NodeIdentity& node = result.node;
  std::cout << (result.already_formatted ? "already formatted, nothing changed:" : "formatted:")
            << " cluster_id=" << node.cluster_id << " node_id=" << node.node
            << " directory_id=" << node.directory << " lanes=" << node.lanes << std::endl;
  return kExitStopped;
}

int RunDump(const DumpConfig& config) {
  const std::optional<storage::StoreError> error = Dump(config);
  std::cout << std::flush;
  return error.has_value() ? Report(*error) : kExitStopped;
}

int RunVerify(const VerifyConfig& config) {
  const std::optional<storage::StoreError> error =
      storage::VerifyDirectory(config.data_dir, storage::RocksTuning(), config.format, PrintLine);
  std::cout << std::flush;
  return error.has_value() ? Report(*error) : kExitStopped;
}

}  // namespace quorum::server

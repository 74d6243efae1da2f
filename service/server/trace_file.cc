#include "service/server/trace_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "service/server/exit.h"

namespace quorum::server {
namespace {

void AddReplica(const char* name, const std::optional<ReplicaKey>& key, std::string* line) {
  if (key.has_value()) absl::StrAppend(line, ",\"", name, "\":", key->id.value());
}

// Every text here is a word of this program, so nothing needs escaping.
std::string EventFields(const raft::TraceEvent& event) {
  std::string fields =
      absl::StrCat("\"event\":\"", raft::Name(event.kind), "\",\"epoch\":", event.epoch.value());
  if (event.kind == raft::TraceKind::kTransition) {
    absl::StrAppend(&fields, ",\"from\":\"", raft::Name(event.from), "\",\"to\":\"",
                    raft::Name(event.to), "\"");
  }
  AddReplica("leaderId", event.leader, &fields);
  AddReplica("peerId", event.peer, &fields);
  absl::StrAppend(&fields, ",\"offset\":", event.offset.value());
  if (event.reason[0] != '\0') absl::StrAppend(&fields, ",\"reason\":\"", event.reason, "\"");
  return fields;
}

}  // namespace

std::optional<storage::StoreError> TraceFile::Open(const std::string& path, const Clock* clock,
                                                   NodeId node, std::unique_ptr<TraceFile>* file) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return storage::ConfigError(
        kTraceFile, absl::StrCat("Cannot open ", path, ": ", std::strerror(errno), "."));
  }
  file->reset(new TraceFile(descriptor, clock, node));
  return std::nullopt;
}

TraceFile::~TraceFile() { close(descriptor_); }

void TraceFile::Write(PartitionId partition, const raft::TraceEvent& event) {
  const std::string line = absl::StrCat(
      "{\"timeMs\":", clock_.WallTimeMs(), ",\"nodeId\":", node_.value(),
      ",\"incarnation\":", incarnation_.value(), ",\"topicId\":", partition.topic.value(),
      ",\"partition\":", partition.index, ",", EventFields(event), "}\n");
  MutexLock lock(&mutex_);
  const ssize_t written = write(descriptor_, line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size()) || failed_) return;
  failed_ = true;
  LOG(WARNING) << "The trace file has lost a line: " << std::strerror(errno);
}

}  // namespace quorum::server

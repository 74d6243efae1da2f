// TraceFile: protocol events of a node as JSON lines, in the order in which each shard met them.
// Off by default; every line is written at once, so that a killed process loses none.
//
//   {"timeMs":1700000000000,"nodeId":1,"incarnation":3,"topicId":17,"partition":0,
//    "event":"transition","epoch":5,"from":"Candidate","to":"Leader","leaderId":1,"offset":98,
//    "reason":"majority"}
//
// Absent fields are left out. `offset` is the watermark of a high_watermark, where the log was cut
// of a truncation, and the log end of everything else.
//
// Thread: Write from any.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "service/raft/trace.h"
#include "storage/layout/store_error.h"

namespace quorum::server {

class TraceFile {
 public:
  // Appends to the file at `path`, which is made when it is missing. TRACE_FILE when it cannot be
  // opened. `clock` outlives the file.
  static std::optional<storage::StoreError> Open(const std::string& path, const Clock* clock,
                                                 NodeId node, std::unique_ptr<TraceFile>* file);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Once, before the first Write.
  void SetIncarnation(Incarnation incarnation) { incarnation_ = incarnation; }

  // A line that cannot be written is lost; the first such loss is logged.
  void Write(PartitionId partition, const raft::TraceEvent& event);

 private:
  TraceFile(int descriptor, const Clock* clock, NodeId node)
      : descriptor_(descriptor), clock_(*clock), node_(node) {}

  const int descriptor_;
  const Clock& clock_;
  const NodeId node_;
  Incarnation incarnation_;
  Mutex mutex_;
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quorum::server

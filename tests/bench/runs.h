// One run of each kind, as main.cc starts it. A run gives one JSON object, which report.py reads;
// times in it are in milliseconds, memory in MiB, CPU in seconds, as the names say.
//
// Errors: a run that cannot be made, or whose calls fail, ends the process; nothing is reported.
// Thread: each blocks the caller's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "service/base/time.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/resources.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

// The servers under test. Node N is the Nth address and the Nth of `subjects.pids`.
struct System {
  // quorum, etcd or echo.
  std::string name;
  std::vector<std::string> addresses;
  Subjects subjects;
};

struct LoadSpec {
  size_t outstanding = 1;
  Shape shape;
  // Connections, shared by the callers in turn; never more than there are callers.
  size_t channels = 4;
  LoopOptions loop;
  // Quorum only: the topic, made if it is not there; how many partitions the callers are spread
  // over; and whether one AppendBatch goes to all partitions of a leader instead of an Append to
  // one.
  std::string topic;
  uint32_t partitions = 1;
  bool append_batch = false;
  // Append: each caller is a producer of its own.
  bool idempotent = false;
};

// A closed loop of calls to the leaders.
nlohmann::json RunLoad(const Clock& clock, const System& system, const LoadSpec& spec);

struct SyncSpec {
  std::string folder;
  size_t bytes = 4096;
  Duration time_max{0};
};

// The disk's floor.
nlohmann::json RunSyncFloor(const Clock& clock, const SyncSpec& spec);

struct IdleSpec {
  std::string topic;
  uint32_t partitions = 1000;
  // From the last election to the first measurement.
  Duration settle{0};
  Duration time_max{0};
};

// Makes a topic of many partitions, and measures what it costs a Quorum node to keep them while
// nobody writes.
nlohmann::json RunIdle(const Clock& clock, const System& system, const IdleSpec& spec);

// Kills a node with SIGKILL, and measures the time until the others lead every partition of the
// topic, and until a record is committed in each.
nlohmann::json RunFailover(const Clock& clock, const System& system, const std::string& topic,
                           uint32_t partitions, size_t victim);

// Kills the leader with SIGKILL, of partition 0 where there are several, and measures the time
// until another node commits a record. The others are probed every 20 ms.
nlohmann::json RunGap(const Clock& clock, const System& system, const std::string& topic);

}  // namespace quorum::bench

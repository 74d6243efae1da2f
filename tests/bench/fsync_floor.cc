#include "tests/bench/fsync_floor.h"

#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "service/base/check.h"
#include "tests/bench/workload.h"

namespace quorum::bench {

SyncFloor MeasureSyncs(const Clock& clock, const std::string& folder, size_t bytes,
                       Duration time_max) {
  const std::string path = absl::StrCat(folder, "/sync-floor.", getpid());
  const int file = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  PCHECK(file >= 0) << path;
  const std::string block = ValueOf(bytes);
  SyncFloor floor;
  const MonoTime began = clock.Now();
  while (floor.elapsed < time_max) {
    const MonoTime before = clock.Now();
    PCHECK(write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
    PCHECK(fdatasync(file) == 0);
    const MonoTime after = clock.Now();
    floor.latency.Record(static_cast<uint64_t>((after - before).count()));
    floor.elapsed = after - began;
  }
  PCHECK(close(file) == 0);
  PCHECK(unlink(path.c_str()) == 0) << path;
  return floor;
}

}  // namespace quorum::bench

// Loaded into quorumd before its libraries: syncs of files do not return while the file exists that
// $QUORUM_TEST_STUCK names, as on a disk that hangs.
//
// Thread: any of the process.

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace {

void WaitWhileStuck() {
  const char* path = std::getenv("QUORUM_TEST_STUCK");
  if (path == nullptr) return;
  while (access(path, F_OK) == 0) poll(nullptr, 0, 10);
}

}  // namespace

extern "C" {

int fsync(int file) {
  WaitWhileStuck();
  return static_cast<int>(syscall(SYS_fsync, file));
}

int fdatasync(int file) {
  WaitWhileStuck();
  return static_cast<int>(syscall(SYS_fdatasync, file));
}

}  // extern "C"

#include "service/server/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "service/base/check.h"
#include "service/server/exit.h"

namespace quorum::server {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

void ExitNow(int) { _exit(kExitStopped); }

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &signals, nullptr), 0);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  CHECK_EQ(sigaction(SIGPIPE, &ignore, nullptr), 0);
}

int WaitForStopSignal() {
  const sigset_t signals = StopSignals();
  int signal = 0;
  CHECK_EQ(sigwait(&signals, &signal), 0);
  return signal;
}

void ExitAtNextStopSignal() {
  struct sigaction exit_now {};
  exit_now.sa_handler = &ExitNow;
  CHECK_EQ(sigaction(SIGTERM, &exit_now, nullptr), 0);
  CHECK_EQ(sigaction(SIGINT, &exit_now, nullptr), 0);
  const sigset_t signals = StopSignals();
  CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &signals, nullptr), 0);
}

}  // namespace quorum::server

#include "service/server/serve.h"

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "service/base/check.h"
#include "service/server/entropy.h"
#include "service/server/exit.h"
#include "service/server/file_limit.h"
#include "service/server/server.h"
#include "service/server/signals.h"

namespace quorum::server {

int RunServe(ServeConfig config) {
  BlockStopSignals();
  if (config.seed == 0) config.seed = DrawSeed();
  const uint64_t open_files = RaiseOpenFilesLimit();
  LOG_IF(WARNING, open_files < kOpenFilesMin)
      << "this process may open " << open_files << " files only; raise the limit above "
      << kOpenFilesMin;
  std::unique_ptr<Server> server;
  if (auto error = Server::Start(config, &server)) return Report(*error);
  const int signal = WaitForStopSignal();
  LOG(INFO) << "stopping on signal " << signal << "; a second one ends the process at once";
  ExitAtNextStopSignal();
  server->Stop();
  server.reset();
  LOG(INFO) << "stopped";
  google::FlushLogFiles(google::INFO);
  // Threads of gRPC run on (callback_threads.h), and nothing that they use may go.
  std::_Exit(kExitStopped);
}

}  // namespace quorum::server

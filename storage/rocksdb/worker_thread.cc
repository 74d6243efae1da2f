#include "storage/rocksdb/worker_thread.h"

#include <pthread.h>

#include <utility>

namespace quorum::storage {

WorkerThread::WorkerThread(const std::string& name, std::function<void()> run)
    : thread_([name = name.substr(0, 15), run = std::move(run)] {
        pthread_setname_np(pthread_self(), name.c_str());
        run();
      }) {}

WorkerThread::~WorkerThread() { thread_.join(); }

}  // namespace quorum::storage

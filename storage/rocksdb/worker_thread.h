// WorkerThread: a thread with a name that is joined before it goes out of scope.
//
// Thread: made and destroyed by its owner. The function must end by itself once the owner tells it
// to; the destructor waits for that.

#pragma once

#include <functional>
#include <string>
#include <thread>

namespace quorum::storage {

class WorkerThread {
 public:
  // `name` shows in ps and debuggers, cut to 15 characters.
  WorkerThread(const std::string& name, std::function<void()> run);
  ~WorkerThread();
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace quorum::storage

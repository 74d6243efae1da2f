// Caller: one client that has at most one call out, of one kind, to one node. A system under test
// is measured through nothing else, so that all of them are driven by the same loop.
//
// Thread: Call from one thread at a time; `done` runs on a thread of gRPC's, once per Call, and may
// Call again.

#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>

namespace quorum::bench {

class Caller {
 public:
  using Done = std::function<void(const grpc::Status&)>;

  virtual ~Caller() = default;

  // Starts a call. Not OK in `done`: the records were not, or perhaps not, written.
  virtual void Call(Done done) = 0;
  // Hurries the call that is out, if any. Any thread.
  virtual void Cancel() = 0;
  // How many records one call writes.
  virtual uint64_t records() const = 0;
};

}  // namespace quorum::bench

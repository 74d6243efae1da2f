// CallFlow: one call through all its attempts. It chooses a node, waits for a connection, lets the
// subclass send, and decides by RetryPolicy whether to go on.
//
//   kConnecting --> kSending --> kDone
//        ^             | failed
//        |             v
//        +--------- kWaiting (back-off)
//
// Lifecycle: held by ClientCore::flows from Start until Finish has run; operations that are on
// their way hold it too. Thread: the event loop's.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client_core.h"
#include "client/error.h"
#include "client/partition_name.h"
#include "client/retry_policy.h"

namespace quorum::client {

struct CallSettings {
  CallKind kind = CallKind::kRead;
  // Whose leader is asked first; empty: any node.
  std::optional<PartitionName> partition;
  CallOptions options;
  // How long one node may take to answer something that may be repeated, if less than
  // ClientOptions::attempt_timeout.
  Duration attempt_time_max = std::chrono::hours(24);
};

class CallFlow : public std::enable_shared_from_this<CallFlow> {
 public:
  // `core` outlives the flow.
  CallFlow(ClientCore& core, CallSettings settings);
  virtual ~CallFlow() = default;
  CallFlow(const CallFlow&) = delete;
  CallFlow& operator=(const CallFlow&) = delete;

  void Start();

  // Ends the call with CANCELLED, at once or when the operation on its way has ended.
  void Cancel();

 protected:
  // Starts an attempt. Exactly one AttemptFailed or Conclude(nullptr) follows, later.
  virtual void Send(NodeStubs& node) = 0;

  // Makes the attempt on its way fail soon.
  virtual void CancelSend() = 0;

  // The call is over, with `error` null when it succeeded. Called once.
  virtual void Finish(const Error* error) = 0;

  void AttemptFailed(Error error);

  // The attempt got somewhere and may go on for long: the next failure counts as the first, and
  // the time-out starts anew.
  void Progressed();

  void Conclude(const Error* error);

  // True from Cancel on.
  bool cancelled() const { return cancelled_; }

  ClientCore& core() { return core_; }
  const CallSettings& settings() const { return settings_; }
  // To the deadline; negative when it has passed.
  Duration Left() const { return deadline_ - core_.loop.Now(); }

  // This flow as its subclass, for what holds it while an operation is on its way.
  template <typename T>
  std::shared_ptr<T> SharedAs() {
    return std::static_pointer_cast<T>(shared_from_this());
  }

 private:
  enum class State { kConnecting, kSending, kWaiting, kDone };

  void BeginRound();
  void TryCandidate();
  void OnConnected(NodeStubs* node);
  // With less time left, an append or a change is not sent any more.
  Duration SendTimeMin() const;
  // Takes from the error what it says about nodes and leaders.
  void LearnFrom(const Error& error);

  ClientCore& core_;
  const CallSettings settings_;
  // Made by Start, because it draws from the core's Prng.
  std::optional<RetryPolicy> retry_;
  MonoTime deadline_;
  State state_ = State::kConnecting;
  bool cancelled_ = false;
  int attempts_ = 0;
  // True when an attempt ended without a proof of refusal.
  bool unproven_ = false;
  // The last answer of a server, which says more than that nothing was sent after it.
  std::optional<Error> judged_;
  // This round's nodes, and the next one to try.
  std::vector<std::string> candidates_;
  size_t next_candidate_ = 0;
  // The node of the present or last attempt.
  std::string address_;
  EventLoop::TimerId timer_;
};

}  // namespace quorum::client

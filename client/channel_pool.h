// ChannelPool: one gRPC channel per address, made on first use and kept. It tells whether a node
// can be reached *before* a call is sent: once a call has left, a lost connection leaves its
// outcome open, so an append may only be sent where a connection stands.
//
// The channels do not retry by themselves and take no service config from DNS: an append must not
// be repeated by anybody but the caller. They notice a dead peer by keep-alive pings in 20 s at
// most, look a name up again after 1 s (a pod comes back with another address), ignore HTTP
// proxies, and take messages of up to 16 MiB.
//
// Thread: the event loop's.

#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/event_loop.h"
#include "quorum/v1/admin.grpc.pb.h"
#include "quorum/v1/log.grpc.pb.h"
#include "service/base/time.h"

namespace quorum::client {

// What speaks to one address.
struct NodeStubs {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::LogService::Stub> log;
  std::unique_ptr<v1::AdminService::Stub> admin;
};

class ChannelPool {
 public:
  // Null when the address could not be reached; otherwise valid as long as the pool.
  using Connected = std::function<void(NodeStubs* node)>;

  // `loop` must outlive the pool.
  explicit ChannelPool(EventLoop& loop) : loop_(loop) {}

  // Calls `connected` once a connection stands, the first attempt fails, or `time_max` has passed;
  // at once when the answer is known.
  void Connect(const std::string& address, Duration time_max, Connected connected);

  // From now on nothing can be reached, and no operation is started on the loop's queue.
  void Close() { closed_ = true; }

 private:
  NodeStubs& StubsFor(const std::string& address);
  void Await(NodeStubs* node, MonoTime until, Connected connected);

  EventLoop& loop_;
  bool closed_ = false;
  // Bounded by the addresses that MetadataCache knows.
  std::map<std::string, NodeStubs> nodes_;
};

}  // namespace quorum::client

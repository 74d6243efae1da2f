// AppendForwarder: what the entries of one AppendBatch forward goes out as one AppendBatch for each
// node, not as an Append for each entry; and each entry hears of its own outcome only.
//
//   auto forwarder = std::make_shared<AppendForwarder>(parts, deadline);
//   {
//     const AppendForwarder::Gathering gathering(forwarder);
//     ...                     // Entries are added.
//   }                         // They are sent.
//
// What is added later, as after a wait for a leader, is gathered for a moment and then sent.
//
// An entry that another node refuses is told so when the last of those that went with it has its
// outcome: the answer is one. So an entry may lose the time for another attempt; never the truth
// about this one.
//
// Thread: any.

#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "quorum/v1/log.pb.h"
#include "service/base/ids.h"
#include "service/base/mutex.h"
#include "service/base/time.h"
#include "service/transport/append_request.h"
#include "service/transport/client_parts.h"

namespace quorum::transport {

class AppendForwarder : public std::enable_shared_from_this<AppendForwarder> {
 public:
  // As of an Append that was forwarded alone: its status, and its answer when that is OK.
  using Done = std::function<void(const google::rpc::Status&, const v1::AppendResponse&)>;

  // Holds back what is added while it lives.
  class Gathering {
   public:
    explicit Gathering(std::shared_ptr<AppendForwarder> forwarder);
    ~Gathering();
    Gathering(const Gathering&) = delete;
    Gathering& operator=(const Gathering&) = delete;

   private:
    const std::shared_ptr<AppendForwarder> forwarder_;
  };

  // `parts` outlive every call.
  AppendForwarder(ClientParts& parts, MonoTime deadline) : parts_(parts), deadline_(deadline) {}

  // `channel` leads to `target`, and stands. `entry` is copied.
  void Add(NodeId target, std::shared_ptr<grpc::Channel> channel, const AppendEntry& entry,
           Done done);

 private:
  struct Group {
    std::shared_ptr<grpc::Channel> channel;
    v1::AppendBatchRequest request;
    // In the order of the entries.
    std::vector<Done> done;
  };

  void Hold();
  void Release();
  void Flush();
  void Send(Group group);
  void OnAnswer(const std::vector<Done>& done, const google::rpc::Status& status,
                const v1::AppendBatchResponse& response);

  ClientParts& parts_;
  const MonoTime deadline_;
  Mutex mutex_;
  std::map<NodeId, Group> groups_ ABSL_GUARDED_BY(mutex_);
  int holds_ ABSL_GUARDED_BY(mutex_) = 0;
  bool flush_is_due_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace quorum::transport

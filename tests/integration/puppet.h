// Puppet: a peer that the test plays. It listens at the address of a node that does not run,
// grants every vote, and takes every announcement; and it lets the test call a real node in its
// name.
//
//   Puppet puppet(&node2);
//   v1::Envelope envelope = puppet.EnvelopeTo(node1);
//
// Thread: gRPC's for what it answers; the test's for the rest.

#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <string>

#include "quorum/v1/common.pb.h"
#include "quorum/v1/voter.grpc.pb.h"
#include "tests/integration/node.h"

namespace quorum::integration {

// 16 bytes of a directory id as text.
std::string DirectoryBytes(const std::string& text);

class Puppet {
 public:
  // Plays `node`, which must have been named as a voter and must not run.
  explicit Puppet(const Node& node);
  ~Puppet();

  v1::PeerIdentity Identity() const;
  // The head of a request to `receiver`, in lane 0.
  v1::Envelope EnvelopeTo(const Node& receiver) const;

  // How many votes it has granted; pre-votes are not counted.
  int votes() const { return votes_; }

 private:
  class Voter;

  const Node& node_;
  std::atomic<int> votes_{0};
  std::unique_ptr<Voter> voter_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace quorum::integration

// FakeCluster: a node that answers for a small cluster which never changes, for the goldens of
// quorumctl. Topic `orders` has four partitions: 0 is well, 1 has no leader, 2 has a voter that
// lags, 3 has one that is silent. Topic `nowhere` does not exist.
//
// Thread: as FakeNode.

#pragma once

#include <string>

#include "tests/client/fake_node.h"

namespace quorum::client {

class FakeCluster {
 public:
  FakeCluster();

  const std::string& address() const { return node_.address(); }

 private:
  void AnswerTopics();
  void AnswerQuorums();
  void AnswerLog();

  FakeNode node_;
};

}  // namespace quorum::client

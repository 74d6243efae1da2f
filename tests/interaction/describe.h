// One line of text for each message and effect, the same on every machine: replicas by node id,
// instants in milliseconds, points as offset@epoch, what is absent as `-`.
//
// Thread: any.

#pragma once

#include <string>

#include "service/base/time.h"
#include "service/raft/effect.h"
#include "service/raft/replica.h"
#include "tests/interaction/cluster.h"

namespace quorum::interaction {

std::string Describe(MonoTime instant);
// The kind of a message alone, for the headline of its delivery.
std::string KindOf(const Body& body);
std::string Describe(const Body& body);
// Sends and replies are described as messages; they are empty here.
std::string Describe(const raft::Effect& effect);
std::string DescribeStatus(const raft::Replica& replica);
std::string Describe(const std::vector<raft::BatchSummary>& log);

}  // namespace quorum::interaction

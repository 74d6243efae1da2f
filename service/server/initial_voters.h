// --initial-voters: the first voters of `__metadata`, as ID@HOST:PORT:DIRECTORY separated by
// commas.
//
//   1@127.0.0.1:7101:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01,2@...
//
// Thread: pure functions.

#pragma once

#include <optional>
#include <string>

#include "service/base/voter_set.h"

namespace quorum::server {

// On failure empty, and `why` says for people what is wrong.
std::optional<VoterSet> ParseInitialVoters(const std::string& text, std::string* why);

// TOPICID:INDEX, as `quorumd dump` takes it. Empty when it is malformed.
std::optional<PartitionId> ParsePartition(const std::string& text);

}  // namespace quorum::server

// What a topic may be called: 1 to 249 of [a-zA-Z0-9._-], as in Kafka, so that a name is safe in
// file names, metrics and log lines.
//
// Thread: pure functions.

#pragma once

#include <string>

namespace quorum::controller {

// A sentence that says what is wrong with the name of a new topic; empty when nothing is.
std::string FindTopicNameFault(const std::string& name);

// Names that begin with two underscores belong to the system.
bool IsInternalTopicName(const std::string& name);

}  // namespace quorum::controller

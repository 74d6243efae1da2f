// The daemon's flags: flags.cc defines and validates all of them, and nothing else of the project
// knows a flag. After ParseCommandLine (command_line.h), one of these turns them into what a verb
// is told, and judges what no single flag can: BAD_CONFIG, or BAD_FLAG for a flag that is missing.
//
// Thread: main's.

#pragma once

#include <optional>
#include <string>

#include "service/server/server_config.h"
#include "storage/layout/store_error.h"

namespace quorum::server {

// `seed` is 0 when none was given.
std::optional<storage::StoreError> LoadServeConfig(ServeConfig* config);
// The directory id is zero when none was given.
std::optional<storage::StoreError> LoadFormatConfig(FormatConfig* config);
// `subject` is what stands behind the verb: node, quorum-state or log.
std::optional<storage::StoreError> LoadDumpConfig(const std::string& subject, DumpConfig* config);
std::optional<storage::StoreError> LoadVerifyConfig(VerifyConfig* config);

// --check-config: the verb shall only be judged.
bool CheckConfigOnly();

// Where glog writes when no flag of its own says it: standard error.
void LogToStandardError();

// Verbs, and every flag of ours with its default, reason and range.
std::string HelpText();

}  // namespace quorum::server

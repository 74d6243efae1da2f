// quorumd: one verb, its flags, and its exit code. See `quorumd --help`.

#include <glog/logging.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "service/server/command_line.h"
#include "service/server/exit.h"
#include "service/server/flags.h"
#include "service/server/serve.h"
#include "service/server/verbs.h"
#include "service/server/version.h"

namespace quorum::server {
namespace {

int CheckedOnly() {
  std::cout << "the configuration can be served" << std::endl;
  return kExitStopped;
}

int Run(const CommandLine& line) {
  const bool wants_argument = line.verb == "dump";
  if (line.arguments.size() != (wants_argument ? 1 : 0)) {
    return Report(storage::ConfigError(
        kUsage, absl::StrCat("\"", line.verb, "\" takes ", wants_argument ? "one" : "no",
                             " argument beside its flags; see quorumd --help.")));
  }
  std::optional<storage::StoreError> error;
  if (line.verb == "serve") {
    ServeConfig config;
    if ((error = LoadServeConfig(&config))) return Report(*error);
    return CheckConfigOnly() ? CheckedOnly() : RunServe(config);
  }
  if (line.verb == "format") {
    FormatConfig config;
    if ((error = LoadFormatConfig(&config))) return Report(*error);
    return CheckConfigOnly() ? CheckedOnly() : RunFormat(config);
  }
  if (line.verb == "dump") {
    DumpConfig config;
    if ((error = LoadDumpConfig(line.arguments.front(), &config))) return Report(*error);
    return RunDump(config);
  }
  if (line.verb == "verify") {
    VerifyConfig config;
    if ((error = LoadVerifyConfig(&config))) return Report(*error);
    return RunVerify(config);
  }
  return Report(storage::ConfigError(
      kUsage, absl::StrCat("There is no verb \"", line.verb, "\"; see quorumd --help.")));
}

}  // namespace
}  // namespace quorum::server

int main(int argc, char** argv) {
  quorum::server::LogToStandardError();
  quorum::server::CommandLine line;
  const auto error =
      quorum::server::ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc), &line);
  google::InitGoogleLogging(argv[0]);
  quorum::server::InstallAssertionExit();
  quorum::server::InstallCrashTrace();
  if (error.has_value()) return quorum::server::Report(*error);
  if (line.help) std::cout << quorum::server::HelpText();
  if (line.version) std::cout << "quorumd " << quorum::server::kSoftwareVersion << std::endl;
  return line.help || line.version ? quorum::server::kExitStopped : quorum::server::Run(line);
}

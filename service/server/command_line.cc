#include "service/server/command_line.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/server/exit.h"

namespace quorum::server {
namespace {

using storage::ConfigError;
using storage::StoreError;

// A flag as it is written, without its dashes.
struct Setting {
  std::string name;
  std::optional<std::string> value;
};

Setting SplitSetting(const std::string& text) {
  Setting setting;
  const size_t start = absl::StartsWith(text, "--") ? 2 : 1;
  const size_t equals = text.find('=');
  setting.name = text.substr(start, equals == std::string::npos ? equals : equals - start);
  std::replace(setting.name.begin(), setting.name.end(), '-', '_');
  if (equals != std::string::npos) setting.value = text.substr(equals + 1);
  return setting;
}

std::string Shown(const std::string& name) {
  std::string shown = name;
  std::replace(shown.begin(), shown.end(), '_', '-');
  return absl::StrCat("--", shown);
}

bool IsBool(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  return gflags::GetCommandLineFlagInfo(name.c_str(), &info) && info.type == "bool";
}

// The flags of the flag library itself, --fromenv and --helpfull among them, would be taken and do
// nothing: we parse by ourselves.
bool IsFlag(const std::string& name) {
  gflags::CommandLineFlagInfo info;
  if (!gflags::GetCommandLineFlagInfo(name.c_str(), &info)) return false;
  return name == "flagfile" || !absl::StrContains(info.filename, "gflags");
}

// --noname, and a bare --name of a bool.
void CompleteBool(Setting* setting) {
  if (setting->value.has_value()) return;
  if (IsBool(setting->name)) {
    setting->value = "true";
  } else if (!IsFlag(setting->name) && absl::StartsWith(setting->name, "no") &&
             IsBool(setting->name.substr(2))) {
    setting->name = setting->name.substr(2);
    setting->value = "false";
  }
}

std::optional<StoreError> Set(const Setting& setting) {
  const std::string& value = *setting.value;
  if (!gflags::SetCommandLineOption(setting.name.c_str(), value.c_str()).empty()) {
    return std::nullopt;
  }
  gflags::CommandLineFlagInfo info;
  gflags::GetCommandLineFlagInfo(setting.name.c_str(), &info);
  return ConfigError(kBadFlag, absl::StrCat(Shown(setting.name), " does not take \"", value,
                                            "\": ", info.description));
}

std::optional<StoreError> UnknownFlag(const std::string& name) {
  return ConfigError(kUsage,
                     absl::StrCat("There is no flag ", Shown(name), "; see quorumd --help."));
}

StoreError Unreadable(const std::string& path) {
  return ConfigError(kUsage, absl::StrCat("The flag file ", path, " cannot be read."));
}

// A flag file may not name another one: what a server was told stands in one place.
std::optional<StoreError> ReadFlagFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Unreadable(path);
  std::string line;
  while (std::getline(file, line)) {
    const std::string text(absl::StripAsciiWhitespace(line));
    if (text.empty() || text[0] == '#') continue;
    if (text[0] != '-') {
      return ConfigError(
          kUsage, absl::StrCat("The flag file ", path, " has a line that is no ", "flag: ", text));
    }
    Setting setting = SplitSetting(text);
    CompleteBool(&setting);
    if (!IsFlag(setting.name) || setting.name == "flagfile") return UnknownFlag(setting.name);
    if (!setting.value.has_value()) {
      return ConfigError(kUsage, absl::StrCat(Shown(setting.name), " in ", path, " has no value."));
    }
    if (auto error = Set(setting)) return error;
  }
  // A directory can be opened, and not read.
  if (file.bad()) return Unreadable(path);
  return std::nullopt;
}

// Takes the flag at `index`, and the argument behind it when that is its value.
std::optional<StoreError> TakeFlag(const std::vector<std::string>& arguments, size_t* index) {
  Setting setting = SplitSetting(arguments[*index]);
  CompleteBool(&setting);
  if (!IsFlag(setting.name)) return UnknownFlag(setting.name);
  if (!setting.value.has_value()) {
    if (*index + 1 == arguments.size()) {
      return ConfigError(kUsage, absl::StrCat(Shown(setting.name), " needs a value."));
    }
    setting.value = arguments[++*index];
  }
  if (setting.name == "flagfile") return ReadFlagFile(*setting.value);
  return Set(setting);
}

}  // namespace

std::optional<StoreError> ParseCommandLine(const std::vector<std::string>& arguments,
                                           CommandLine* result) {
  *result = CommandLine();
  bool verb_given = false;
  for (size_t index = 0; index < arguments.size(); ++index) {
    const std::string& argument = arguments[index];
    if (argument == "--help" || argument == "-h" || argument == "help") {
      result->help = true;
      return std::nullopt;
    }
    if (argument == "--version") {
      result->version = true;
      return std::nullopt;
    }
    if (argument.size() > 1 && argument[0] == '-') {
      if (auto error = TakeFlag(arguments, &index)) return error;
    } else if (!std::exchange(verb_given, true)) {
      result->verb = argument;
    } else {
      result->arguments.push_back(argument);
    }
  }
  return std::nullopt;
}

}  // namespace quorum::server

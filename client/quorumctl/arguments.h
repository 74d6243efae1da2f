// Arguments: what single words of a command line mean, and how CLI11 is kept from taking them
// apart.
//
// Thread: pure functions.

#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/quorumctl/command_line.h"

namespace quorum::client::quorumctl {

// TOPIC or TOPIC:PARTITION.
std::optional<Target> ParseTarget(const std::string& text);

// earliest, latest or an offset.
std::optional<TailStart> ParseStart(const std::string& text);

// The words as CLI11 takes them for what they are. By itself it takes "[a,b]" for two values, "++"
// for the end of a verb, and the next word for the value of "--key=", which is the empty one.
std::vector<std::string> Guarded(const std::vector<std::string>& words);

// Takes away what Guarded put behind a word.
void Unguard(std::string* text);

// A validator from a parser that returns an optional.
template <typename Parse>
CLI::Validator Checks(Parse parse, const std::string& form) {
  return CLI::Validator(
      [parse, form](std::string& text) {
        return parse(text).has_value() ? std::string()
                                       : absl::StrCat("\"", text, "\" is not ", form);
      },
      "");
}

CLI::Validator ChecksBootstrap();

// A whole number in digits, without a zero before them: CLI11 reads "010" as eight, and takes the
// nearest number that fits for one that does not.
template <typename T>
CLI::Validator InRange(T min, T max) {
  const std::string range = absl::StrCat("[", min, " - ", max, "]");
  return CLI::Validator(
      [min, max, range](std::string& text) {
        T number = 0;
        const bool digits = text.find_first_not_of("0123456789") == std::string::npos &&
                            (text.size() == 1 || text.front() != '0');
        const bool good = !text.empty() && digits && absl::SimpleAtoi(text, &number) &&
                          min <= number && number <= max;
        return good ? std::string()
                    : absl::StrCat("\"", text, "\" is not a whole number in ", range);
      },
      "INT in " + range);
}

}  // namespace quorum::client::quorumctl

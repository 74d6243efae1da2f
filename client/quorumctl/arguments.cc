#include "client/quorumctl/arguments.h"

#include "absl/time/time.h"
#include "client/bootstrap.h"

namespace quorum::client::quorumctl {
namespace {

// Behind a word that CLI11 would take apart.
constexpr char kGuard = '\x1f';

}  // namespace

std::optional<Target> ParseTarget(const std::string& text) {
  if (text.find(':') == std::string::npos) {
    if (text.empty()) return std::nullopt;
    return Target{text, std::nullopt};
  }
  const std::optional<PartitionName> name = PartitionName::Parse(text);
  if (!name.has_value()) return std::nullopt;
  return Target{name->topic, name->index};
}

std::optional<TailStart> ParseStart(const std::string& text) {
  if (text == "earliest") return TailFromEarliest{};
  if (text == "latest") return TailFromLatest{};
  int64_t offset = 0;
  if (!absl::SimpleAtoi(text, &offset) || offset < 0 || Offset(offset) >= kOffsetLimit) {
    return std::nullopt;
  }
  return Offset(offset);
}

std::vector<std::string> Guarded(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  bool options = true;
  for (const std::string& word : words) {
    if (word == "--") options = false;
    const bool empty_value = options && word.size() > 3 && word.compare(0, 2, "--") == 0 &&
                             word.find('=') == word.size() - 1;
    if (empty_value) {
      kept.push_back(word.substr(0, word.size() - 1));
      kept.emplace_back();
    } else if (word == "++" || (!word.empty() && word.back() == ']')) {
      kept.push_back(word + kGuard);
    } else {
      kept.push_back(word);
    }
  }
  return kept;
}

void Unguard(std::string* text) {
  if (!text->empty() && text->back() == kGuard) text->pop_back();
}

CLI::Validator ChecksBootstrap() {
  return CLI::Validator(
      [](std::string& text) {
        const auto parsed = ParseBootstrap(text);
        return parsed.ok() ? std::string() : std::string(parsed.status().message());
      },
      "");
}

std::optional<Duration> ParseTimeout(const std::string& text) {
  absl::Duration parsed;
  double seconds = 0;
  if (absl::SimpleAtod(text, &seconds)) {
    parsed = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &parsed)) {
    return std::nullopt;
  }
  if (parsed < absl::Milliseconds(1) || parsed > absl::Hours(24)) return std::nullopt;
  return absl::ToChronoNanoseconds(parsed);
}

}  // namespace quorum::client::quorumctl

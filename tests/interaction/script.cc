#include "tests/interaction/script.h"

#include <chrono>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace quorum::interaction {
namespace {

using Link = std::pair<int32_t, int32_t>;

std::optional<int64_t> ParseNumber(absl::string_view text) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number)) return std::nullopt;
  return number;
}

std::optional<Duration> ParseDuration(absl::string_view text) {
  if (absl::ConsumeSuffix(&text, "ms")) {
    const auto number = ParseNumber(text);
    if (number.has_value()) return std::chrono::milliseconds(*number);
    return std::nullopt;
  }
  if (!absl::ConsumeSuffix(&text, "s")) return std::nullopt;
  const auto number = ParseNumber(text);
  if (number.has_value()) return std::chrono::seconds(*number);
  return std::nullopt;
}

// "1->2".
std::optional<Link> ParseLink(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, "->");
  if (ends.size() != 2) return std::nullopt;
  const auto from = ParseNumber(ends[0]);
  const auto to = ParseNumber(ends[1]);
  if (!from.has_value() || !to.has_value()) return std::nullopt;
  return Link{static_cast<int32_t>(*from), static_cast<int32_t>(*to)};
}

// "1x3,3x2": epoch x records.
std::optional<std::vector<std::pair<int64_t, int64_t>>> ParseLog(absl::string_view text) {
  std::vector<std::pair<int64_t, int64_t>> log;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(part, 'x');
    if (numbers.size() != 2) return std::nullopt;
    const auto epoch = ParseNumber(numbers[0]);
    const auto records = ParseNumber(numbers[1]);
    if (!epoch.has_value() || !records.has_value()) return std::nullopt;
    log.emplace_back(*epoch, *records);
  }
  return log;
}

}  // namespace

std::vector<Paragraph> ParseScript(const std::string& text) {
  std::vector<Paragraph> paragraphs;
  Paragraph current;
  bool in_output = false;
  int number = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (in_output && !line.empty()) {
      current.expected += line + "\n";
    } else if (in_output) {
      paragraphs.push_back(std::exchange(current, Paragraph{}));
      in_output = false;
    } else if (line == "----") {
      in_output = true;
    } else if (current.commands.empty() && (line.empty() || line[0] == '#')) {
      current.preamble += line + "\n";
    } else {
      if (current.commands.empty()) current.line = number;
      current.commands.push_back(line);
    }
  }
  if (!current.commands.empty()) paragraphs.push_back(current);
  return paragraphs;
}

std::string FormatScript(const std::vector<Paragraph>& paragraphs) {
  std::string text;
  for (const Paragraph& paragraph : paragraphs) {
    if (!text.empty()) text += "\n";
    text += paragraph.preamble;
    for (const std::string& command : paragraph.commands) text += command + "\n";
    text += "----\n" + paragraph.expected;
  }
  return text;
}

Interpreter::Command Interpreter::Parse(const std::string& line) {
  Command command;
  std::istringstream in(line);
  in >> command.name;
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      command.words.push_back(word);
    } else {
      command.options[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  return command;
}

std::string Interpreter::Run(const std::vector<std::string>& commands) {
  std::string output;
  for (const std::string& line : commands) {
    const std::string wrong = Execute(Parse(line));
    if (cluster_.has_value()) output += cluster_->TakeOutput();
    output += std::exchange(output_, "");
    if (!wrong.empty()) output += "error: " + wrong + ": " + line + "\n";
  }
  return output.empty() ? "ok\n" : output;
}

std::string Interpreter::Execute(const Command& command) {
  if (command.name == "cluster") return MakeCluster(command);
  if (command.name == "quiet" || command.name == "loud") {
    quiet_ = command.name == "quiet";
    if (cluster_.has_value()) cluster_->SetQuiet(quiet_);
    return "";
  }
  if (!cluster_.has_value()) return "a script begins with cluster";
  for (const auto& handler :
       {&Interpreter::OnTime, &Interpreter::OnNetwork, &Interpreter::Look, &Interpreter::OnNode}) {
    const std::string wrong = (this->*handler)(command);
    if (wrong != "unknown") return wrong;
  }
  return "unknown command";
}

std::string Interpreter::MakeCluster(const Command& command) {
  Cluster::Options options;
  options.quiet = quiet_;
  for (const auto& [name, value] : command.options) {
    absl::string_view node = name;
    if (absl::ConsumePrefix(&node, "log")) {
      const auto id = ParseNumber(node);
      const auto log = ParseLog(value);
      if (!id.has_value() || !log.has_value()) return "a log reads log2=1x3,4x2";
      options.logs[static_cast<int32_t>(*id)] = *log;
      continue;
    }
    const auto number = ParseNumber(value);
    if (!number.has_value()) return "no number: " + value;
    if (name == "voters") {
      options.voters = static_cast<int>(*number);
    } else if (name == "observers") {
      options.observers = static_cast<int>(*number);
    } else if (name == "seed") {
      options.seed = static_cast<uint64_t>(*number);
    } else if (name == "epoch") {
      options.epoch = Epoch(*number);
    } else if (name == "fetch_batches") {
      options.fetch_batches = static_cast<size_t>(*number);
    } else {
      return "unknown option " + name;
    }
  }
  cluster_.emplace(options);
  return "";
}

std::string Interpreter::OnTime(const Command& command) {
  if (command.name != "tick" && command.name != "run") return "unknown";
  const auto duration = command.words.size() == 1 ? ParseDuration(command.words[0]) : std::nullopt;
  if (!duration.has_value()) return "a time reads 1500ms or 2s";
  if (command.name == "tick") {
    cluster_->Tick(*duration);
  } else {
    cluster_->Run(*duration);
  }
  return "";
}

std::string Interpreter::OnNetwork(const Command& command) {
  if (command.name == "stabilize") {
    cluster_->Stabilize();
  } else if (command.name == "heal") {
    cluster_->Heal();
  } else if (command.name == "deliver") {
    std::set<Link> drops;
    const auto drop = command.options.find("drop");
    if (drop != command.options.end()) {
      for (const absl::string_view text : absl::StrSplit(drop->second, ',')) {
        const auto link = ParseLink(text);
        if (!link.has_value()) return "a link reads 1->2";
        drops.insert(*link);
      }
    }
    cluster_->Deliver(drops);
  } else if (command.name == "cut") {
    for (const std::string& text : command.words) {
      const auto link = ParseLink(text);
      if (!link.has_value()) return "a link reads 1->2";
      cluster_->Cut(link->first, link->second);
    }
  } else {
    return "unknown";
  }
  return "";
}

std::string Interpreter::Look(const Command& command) {
  if (command.name == "status") {
    output_ += cluster_->Status();
  } else if (command.name == "log") {
    output_ += cluster_->Log();
  } else if (command.name == "pending") {
    output_ += cluster_->Pending();
  } else {
    return "unknown";
  }
  return "";
}

std::string Interpreter::OnNode(const Command& command) {
  const auto number = command.words.size() == 1 ? ParseNumber(command.words[0]) : std::nullopt;
  const int32_t id = number.has_value() ? static_cast<int32_t>(*number) : 0;
  if (!cluster_->Has(id)) return "unknown command, or no such node";
  const auto option = [&command](const char* name) -> std::optional<int64_t> {
    const auto found = command.options.find(name);
    return found == command.options.end() ? std::nullopt : ParseNumber(found->second);
  };
  if (command.name == "restart") {
    if (cluster_->IsRunning(id)) return "it runs";
    cluster_->Restart(id);
    return "";
  }
  if (!cluster_->IsRunning(id)) return "it is down";
  if (command.name == "campaign") {
    cluster_->Campaign(id);
  } else if (command.name == "isolate") {
    cluster_->Isolate(id);
  } else if (command.name == "append") {
    const auto epoch = option("epoch");
    cluster_->Append(id, option("records").value_or(1),
                     epoch.has_value() ? std::optional(Epoch(*epoch)) : std::nullopt);
  } else if (command.name == "resign") {
    const auto preferred = option("preferred");
    cluster_->Resign(
        id, preferred.has_value() ? std::optional(static_cast<int32_t>(*preferred)) : std::nullopt);
  } else if (command.name == "shutdown") {
    cluster_->ShutDown(id);
  } else if (command.name == "hint") {
    cluster_->Hint(id, static_cast<int32_t>(option("leader").value_or(0)),
                   Epoch(option("epoch").value_or(0)));
  } else if (command.name == "crash") {
    cluster_->Crash(id, command.options.count("lose") != 0);
  } else if (command.name == "hold") {
    cluster_->HoldDisk(id);
  } else if (command.name == "sync") {
    cluster_->SyncDisk(id);
  } else {
    return "unknown command";
  }
  return "";
}

}  // namespace quorum::interaction

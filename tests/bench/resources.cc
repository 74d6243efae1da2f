#include "tests/bench/resources.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "service/base/check.h"
#include "tests/bench/http_get.h"

namespace quorum::bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
}

double Number(const std::string& word) {
  double value = 0;
  return absl::SimpleAtod(word, &value) ? value : 0;
}

double TicksToSeconds(double ticks) { return ticks / static_cast<double>(sysconf(_SC_CLK_TCK)); }

// The number behind "name:" in a file of such lines.
uint64_t Field(const std::string& text, const std::string& name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words = Words(line);
    if (words.size() >= 2 && words[0] == name) return static_cast<uint64_t>(Number(words[1]));
  }
  return 0;
}

double MachineCpuSeconds() {
  const std::vector<std::string> words = Words(ReadFile("/proc/stat"));
  // cpu user nice system idle iowait irq softirq steal.
  CHECK_GT(words.size(), 8u);
  double ticks = 0;
  for (const size_t index : {1u, 2u, 3u, 6u, 7u}) ticks += Number(words[index]);
  return TicksToSeconds(ticks);
}

std::optional<double> DeviceFlushes(const std::string& path) {
  struct stat status = {};
  if (path.empty() || stat(path.c_str(), &status) != 0) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(ReadFile("/proc/diskstats"), '\n')) {
    const std::vector<std::string> words = Words(line);
    // The 19th field counts flushes, since Linux 5.5.
    if (words.size() < 20 || words[0] != absl::StrCat(major(status.st_dev)) ||
        words[1] != absl::StrCat(minor(status.st_dev))) {
      continue;
    }
    return Number(words[18]);
  }
  return std::nullopt;
}

std::optional<double> Syncs(const Subjects& subjects) {
  if (subjects.metrics.empty()) return std::nullopt;
  double sum = 0;
  for (const std::string& address : subjects.metrics) {
    const std::optional<std::string> page = HttpGet(address, "/metrics");
    if (!page.has_value()) return std::nullopt;
    for (const std::string& name : subjects.sync_counters) {
      const std::optional<double> value = SumOfCounter(*page, name);
      if (!value.has_value()) return std::nullopt;
      sum += *value;
    }
  }
  return sum;
}

}  // namespace

double Usage::ServersCpu() const {
  double sum = 0;
  for (const ProcessUsage& server : servers) sum += server.cpu_seconds;
  return sum;
}

uint64_t Usage::ServersWritten() const {
  uint64_t sum = 0;
  for (const ProcessUsage& server : servers) sum += server.written_bytes;
  return sum;
}

uint64_t Usage::LargestRss() const {
  uint64_t largest = 0;
  for (const ProcessUsage& server : servers) largest = std::max(largest, server.rss_bytes);
  return largest;
}

std::optional<ProcessUsage> ReadProcess(int pid) {
  const std::string folder = absl::StrCat("/proc/", pid, "/");
  const std::string stat_line = ReadFile(folder + "stat");
  // The name of the program stands in parentheses and may hold blanks.
  const size_t name_end = stat_line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> words = Words(stat_line.substr(name_end + 1));
  if (words.size() < 13 || words[0] == "Z") return std::nullopt;
  ProcessUsage usage;
  usage.cpu_seconds = TicksToSeconds(Number(words[11]) + Number(words[12]));
  usage.rss_bytes = Field(ReadFile(folder + "status"), "VmRSS:") * 1024;
  usage.written_bytes = Field(ReadFile(folder + "io"), "write_bytes:");
  return usage;
}

Usage Measure(const Subjects& subjects) {
  Usage usage;
  for (const int pid : subjects.pids) {
    const std::optional<ProcessUsage> server = ReadProcess(pid);
    CHECK(server.has_value()) << "server process " << pid << " is gone";
    usage.servers.push_back(*server);
  }
  usage.self = ReadProcess(getpid()).value_or(ProcessUsage());
  usage.machine_cpu_seconds = MachineCpuSeconds();
  usage.syncs = Syncs(subjects);
  usage.flushes = DeviceFlushes(subjects.data_dir);
  return usage;
}

std::optional<double> SumOfCounter(const std::string& page, const std::string& name) {
  std::optional<double> sum;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (!absl::StartsWith(line, name)) continue;
    const absl::string_view rest = line.substr(name.size());
    if (rest.empty() || (rest[0] != ' ' && rest[0] != '{')) continue;
    const size_t value = rest.rfind(' ');
    if (value == absl::string_view::npos) continue;
    sum = sum.value_or(0) + Number(std::string(rest.substr(value + 1)));
  }
  return sum;
}

}  // namespace quorum::bench

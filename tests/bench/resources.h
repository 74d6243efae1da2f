// What a run costs: CPU, memory and disk work of the servers, of this process, and of the machine,
// read from /proc and from the servers' own /metrics before and after.
//
//   const Usage before = Measure(subjects);
//   ...
//   const Usage after = Measure(subjects);
//   after.servers_cpu - before.servers_cpu
//
// Thread: any; reading blocks for some milliseconds.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quorum::bench {

// Who is looked at.
struct Subjects {
  std::vector<int> pids;
  // HOST:PORT of a Prometheus page, one a server; may be empty.
  std::vector<std::string> metrics;
  // The counters of those pages that count synced writes; their sum is the number of syncs.
  std::vector<std::string> sync_counters;
  // A path on the device whose cache flushes are counted.
  std::string data_dir;
};

struct ProcessUsage {
  double cpu_seconds = 0;
  uint64_t rss_bytes = 0;
  // Handed to the block layer.
  uint64_t written_bytes = 0;
};

// Totals since some moment in the past; only differences mean something, but for memory.
struct Usage {
  std::vector<ProcessUsage> servers;
  ProcessUsage self;
  // Busy time of all cores together.
  double machine_cpu_seconds = 0;
  // Sum over the servers; absent when a page could not be read.
  std::optional<double> syncs;
  // Cache flushes that the device completed; absent when the kernel does not count them.
  std::optional<double> flushes;

  double ServersCpu() const;
  uint64_t ServersWritten() const;
  uint64_t LargestRss() const;
};

// Absent when there is no such process.
std::optional<ProcessUsage> ReadProcess(int pid);

// Ends this process when a server of `subjects` is gone: its figures would mean nothing.
Usage Measure(const Subjects& subjects);

// The sum of all rows of a counter on a Prometheus page; absent when there is none.
std::optional<double> SumOfCounter(const std::string& page, const std::string& name);

}  // namespace quorum::bench

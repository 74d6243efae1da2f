// Appends numbered events to a partition, each exactly once, and goes on through the loss of any
// node.
//
//   producer 127.0.0.1:7101,127.0.0.1:7102 orders:0 1000
//
// Start it again while it runs: both append, and neither loses or doubles an event. Exit codes: 0
// all committed, 1 some not, 2 wrong arguments.

#include "client/producer.h"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>

#include "client/bootstrap.h"
#include "client/quorum_client.h"
#include "service/base/overloaded.h"

using quorum::Overloaded;
using quorum::client::AppendOutcome;
using quorum::client::ClientOptions;
using quorum::client::Committed;
using quorum::client::ParseBootstrap;
using quorum::client::PartitionName;
using quorum::client::Producer;
using quorum::client::QuorumClient;
using quorum::client::RecordOf;
using quorum::client::Refused;
using quorum::client::Unknown;

int main(int argc, char** argv) {
  const auto bootstrap = ParseBootstrap(argc == 4 ? argv[1] : "");
  const auto partition = PartitionName::Parse(argc == 4 ? argv[2] : "");
  if (!bootstrap.ok() || !partition.has_value()) {
    std::cerr << "usage: producer HOST:PORT,... TOPIC:PARTITION EVENTS\n";
    return 2;
  }
  ClientOptions options;
  options.bootstrap = *bootstrap;
  QuorumClient client(options);
  Producer producer(client);

  // Callbacks run on the client's thread, beside this one.
  std::atomic<int> committed{0};
  std::atomic<int> refused{0};
  std::atomic<int> unknown{0};
  const auto count = [&](const AppendOutcome& outcome) {
    std::visit(Overloaded{
                   [&](const Committed&) { ++committed; },
                   // Not in the log, now or later.
                   [&](const Refused&) { ++refused; },
                   // No answer decided it until the deadline. Read the log to find out.
                   [&](const Unknown&) { ++unknown; },
               },
               outcome);
  };
  // Append waits when too much is on its way: memory is bounded.
  for (int event = 0; event < std::atoi(argv[3]); ++event) {
    producer.Append({*partition, {RecordOf("event " + std::to_string(event))}}, count);
  }
  producer.Flush(std::chrono::minutes(1));
  std::cout << committed << " committed, " << refused << " refused, " << unknown << " unknown\n";
  return refused + unknown == 0 ? 0 : 1;
}

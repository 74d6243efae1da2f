// Builds a state from a partition's log, says when it is up to date, and follows the log from there
// on: what a controller does at its start.
//
//   consumer 127.0.0.1:7101,127.0.0.1:7102 orders:0 RECORDS [OFFSET]
//
// The state is here the number of records. Ends when it is up to date and has seen RECORDS of them.
// What to keep for the next start is printed with it: give it as OFFSET. Exit codes: 0 done, 1 the
// log cannot be read, 2 wrong arguments.

#include "client/consumer.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "client/bootstrap.h"
#include "client/quorum_client.h"
#include "service/base/overloaded.h"

using quorum::Offset;
using quorum::Overloaded;
using quorum::client::ClientOptions;
using quorum::client::Consumer;
using quorum::client::ConsumerEvent;
using quorum::client::ParseBootstrap;
using quorum::client::PartitionName;
using quorum::client::QuorumClient;
using quorum::client::TailEnd;
using quorum::client::TailFailure;
using quorum::client::TailProgress;
using quorum::client::TailRecords;
using quorum::client::TailReplayed;
using quorum::client::TailReset;
using quorum::client::TailSpec;

namespace {

// What the records amount to. A real state machine would look at them.
struct State {
  int64_t records = 0;
  Offset next_offset;
  bool up_to_date = false;
  bool failed = false;

  void Apply(const ConsumerEvent& next) {
    std::visit(Overloaded{
                   [this](const TailRecords& delivered) {
                     records += static_cast<int64_t>(delivered.records.size());
                     next_offset = delivered.next_offset;
                   },
                   [this](const TailReplayed&) {
                     up_to_date = true;
                     Print("up to date");
                   },
                   // What follows is the last value of each key: begin anew.
                   [this](const TailReset& reset) { records = reset.snapshot ? 0 : records; },
                   [](const TailProgress&) {},
                   [](const TailEnd&) {},
                   [this](const TailFailure& failure) {
                     std::cerr << failure.error.ToString() << "\n";
                     failed = true;
                   },
               },
               next.event);
  }

  void Print(const char* what) const {
    std::cout << what << ": " << records << " records, next offset " << next_offset.value()
              << std::endl;
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto bootstrap = ParseBootstrap(argc >= 4 ? argv[1] : "");
  const auto partition = PartitionName::Parse(argc >= 4 ? argv[2] : "");
  if (!bootstrap.ok() || !partition.has_value()) {
    std::cerr << "usage: consumer HOST:PORT,... TOPIC:PARTITION RECORDS [OFFSET]\n";
    return 2;
  }
  ClientOptions options;
  options.bootstrap = *bootstrap;
  QuorumClient client(options);
  Consumer consumer(client);
  TailSpec spec{*partition};
  State state;
  if (argc > 4) spec.start = state.next_offset = Offset(std::atoll(argv[4]));
  consumer.Add(spec);
  const int64_t wanted = std::atoll(argv[3]);
  while (!state.failed && (!state.up_to_date || state.records < wanted)) {
    // A program with other things to do looks in between: nothing comes for a second.
    const auto next = consumer.Next(std::chrono::seconds(1));
    if (next.has_value()) state.Apply(*next);
  }
  state.Print("at the end");
  return state.failed ? 1 : 0;
}

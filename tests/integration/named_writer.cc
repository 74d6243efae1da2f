// A program of producers_test.cc: writes under a producer's name until it is refused.
//
//   named_writer ADDRESS TOPIC NAME
//
// Prints one line per committed append and, at the end, "refused REASON"; then its exit code is 0.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>

#include "tests/integration/stubs.h"

namespace quorum::integration {
namespace {

int Write(const std::string& address, const std::string& topic, const std::string& name) {
  const Stubs stubs(address);
  v1::InitProducerRequest init;
  init.set_name(name);
  init.set_topic(topic);
  init.set_partition(0);
  v1::InitProducerResponse producer;
  grpc::Status status = Call(*stubs.log, &v1::LogService::Stub::InitProducer, init, &producer);
  if (!status.ok()) {
    std::cerr << FailureOf(status) << std::endl;
    return 1;
  }
  for (int64_t sequence = 0;;) {
    v1::AppendRequest request = AppendOf(topic, 0, {"writer-" + std::to_string(sequence)});
    v1::ProducerStamp* stamp = request.mutable_producer();
    stamp->set_producer_id(producer.producer_id());
    stamp->set_producer_epoch(producer.producer_epoch());
    stamp->set_base_sequence(sequence);
    v1::AppendResponse response;
    status = Call(*stubs.log, &v1::LogService::Stub::Append, request, &response);
    if (status.ok()) {
      std::cout << "committed " << sequence++ << std::endl;
    } else if (OutcomeOf(status) == Outcome::kRefused) {
      std::cout << "refused " << FailureOf(status).reason << std::endl;
      return 0;
    } else {
      std::cerr << "again: " << FailureOf(status) << std::endl;
    }
  }
}

}  // namespace
}  // namespace quorum::integration

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  return quorum::integration::Write(argv[1], argv[2], argv[3]);
}

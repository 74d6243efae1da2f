#include "tests/bench/workload.h"

#include "absl/strings/str_format.h"
#include "service/base/prng.h"

namespace quorum::bench {

std::string KeyOf(uint64_t number) { return absl::StrFormat("k%07d", number % 10'000); }

std::string ValueOf(size_t bytes) {
  Prng prng(1);
  std::string value;
  while (value.size() < bytes) value.push_back(static_cast<char>(prng.Below(256)));
  return value;
}

}  // namespace quorum::bench

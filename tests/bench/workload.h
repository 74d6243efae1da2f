// What is written: the same keys and values for every system.
//
// Thread: plain values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quorum::bench {

// How a call is shaped.
struct Shape {
  // In one call: records of a batch, or puts of a transaction.
  size_t records = 1;
  size_t value_bytes = 256;
};

// 8 bytes, from a space of 10,000 keys, so that neither system gets an ever-growing index. 10,000
// consecutive numbers have different keys.
std::string KeyOf(uint64_t number);

// Bytes that no compression makes smaller; the same at each call.
std::string ValueOf(size_t bytes);

}  // namespace quorum::bench

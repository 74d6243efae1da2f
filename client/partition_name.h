// PartitionName: a partition as a client names it, by its topic's name. The service's own identity,
// PartitionId, outlives a topic of the same name; a client's does not.
//
// Thread: plain values.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace quorum::client {

struct PartitionName {
  std::string topic;
  uint32_t index = 0;

  // "orders:0".
  std::string ToString() const;

  // Reads that form. Empty when the topic is missing or what follows the last colon is no number.
  static std::optional<PartitionName> Parse(const std::string& text);

  friend bool operator==(const PartitionName& a, const PartitionName& b) {
    return a.index == b.index && a.topic == b.topic;
  }
  friend bool operator<(const PartitionName& a, const PartitionName& b) {
    return std::tie(a.topic, a.index) < std::tie(b.topic, b.index);
  }
};

}  // namespace quorum::client

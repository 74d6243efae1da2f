#include "client/partition_name.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace quorum::client {

std::string PartitionName::ToString() const { return absl::StrCat(topic, ":", index); }

std::optional<PartitionName> PartitionName::Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  const std::string digits = text.substr(colon + 1);
  // SimpleAtoi alone would also take signs and spaces.
  const bool all_digits =
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  PartitionName name;
  if (!all_digits || !absl::SimpleAtoi(digits, &name.index)) return std::nullopt;
  name.topic = text.substr(0, colon);
  return name;
}

}  // namespace quorum::client

#include "service/server/initial_voters.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "service/server/address.h"

namespace quorum::server {
namespace {

// As raft and the voter set allow; more would never agree in time.
constexpr size_t kVotersMax = 31;

std::optional<Voter> ParseVoter(const std::string& text) {
  const size_t at = text.find('@');
  const size_t colon = text.rfind(':');
  if (at == std::string::npos || colon == std::string::npos || colon < at) return std::nullopt;
  int32_t id = 0;
  if (!absl::SimpleAtoi(text.substr(0, at), &id) || id < 1) return std::nullopt;
  const std::optional<Address> address = ParseAddress(text.substr(at + 1, colon - at - 1));
  const std::optional<DirectoryId> directory = DirectoryId::Parse(text.substr(colon + 1));
  if (!address.has_value() || address->IsWildcard() || !directory.has_value()) return std::nullopt;
  return Voter{ReplicaKey{NodeId(id), *directory}, address->ToString()};
}

}  // namespace

std::optional<VoterSet> ParseInitialVoters(const std::string& text, std::string* why) {
  std::vector<Voter> voters;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::string piece(part);
    std::optional<Voter> voter = ParseVoter(piece);
    if (!voter.has_value()) {
      *why = absl::StrCat("\"", piece,
                          "\" is not ID@HOST:PORT:DIRECTORY, like "
                          "1@127.0.0.1:7101:3f2a41bd-9b0e-4c55-a6f5-1d1c8e0f9a01");
      return std::nullopt;
    }
    voters.push_back(*std::move(voter));
  }
  if (voters.size() > kVotersMax) {
    *why = absl::StrCat("there are more than ", kVotersMax, " voters");
    return std::nullopt;
  }
  if (!VoterSet::IsValid(voters)) {
    *why = "a node id stands there twice";
    return std::nullopt;
  }
  return VoterSet(std::move(voters));
}

std::optional<PartitionId> ParsePartition(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  uint64_t topic = 0;
  uint32_t index = 0;
  if (parts.size() != 2 || !absl::SimpleAtoi(parts[0], &topic) || topic == 0 ||
      !absl::SimpleAtoi(parts[1], &index)) {
    return std::nullopt;
  }
  return PartitionId{TopicId(topic), index};
}

}  // namespace quorum::server

#include "service/base/voter_set.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "service/base/check.h"

namespace quorum {
namespace {

bool ByKey(const Voter& a, const Voter& b) { return a.key < b.key; }

size_t CountMissing(const VoterSet& from, const VoterSet& in) {
  return static_cast<size_t>(std::count_if(
      from.begin(), from.end(), [&in](const Voter& voter) { return !in.Contains(voter.key); }));
}

}  // namespace

VoterSet::VoterSet(std::vector<Voter> voters) : voters_(std::move(voters)) {
  CHECK(IsValid(voters_)) << "duplicate or illegal replica key in a voter set";
  std::sort(voters_.begin(), voters_.end(), ByKey);
}

bool VoterSet::IsValid(const std::vector<Voter>& voters) {
  std::vector<NodeId> ids;
  ids.reserve(voters.size());
  for (const Voter& voter : voters) {
    if (voter.key.directory.IsZero() || voter.key.id < NodeId(1)) return false;
    ids.push_back(voter.key.id);
  }
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

size_t VoterSet::Majority() const {
  CHECK(!voters_.empty());
  return voters_.size() / 2 + 1;
}

bool VoterSet::Contains(const ReplicaKey& key) const {
  const Voter* voter = FindNode(key.id);
  return voter != nullptr && voter->key == key;
}

const Voter* VoterSet::FindNode(NodeId id) const {
  for (const Voter& voter : voters_) {
    if (voter.key.id == id) return &voter;
  }
  return nullptr;
}

std::optional<VoterSet> VoterSet::Add(const Voter& voter) const {
  if (FindNode(voter.key.id) != nullptr) return std::nullopt;
  std::vector<Voter> voters = voters_;
  voters.push_back(voter);
  return VoterSet(std::move(voters));
}

std::optional<VoterSet> VoterSet::Remove(const ReplicaKey& key) const {
  if (!Contains(key) || voters_.size() == 1) return std::nullopt;
  std::vector<Voter> voters;
  for (const Voter& voter : voters_) {
    if (voter.key != key) voters.push_back(voter);
  }
  return VoterSet(std::move(voters));
}

std::optional<VoterSet> VoterSet::Update(const Voter& voter) const {
  if (!Contains(voter.key)) return std::nullopt;
  std::vector<Voter> voters = voters_;
  for (Voter& present : voters) {
    if (present.key == voter.key) present = voter;
  }
  return VoterSet(std::move(voters));
}

bool VoterSet::HasOverlappingMajority(const VoterSet& other) const {
  if (empty() || other.empty()) return false;
  return CountMissing(*this, other) + CountMissing(other, *this) <= 1;
}

std::ostream& operator<<(std::ostream& out, const VoterSet& set) {
  out << '[';
  const char* separator = "";
  for (const Voter& voter : set) {
    out << separator << voter.key;
    separator = ",";
  }
  return out << ']';
}

const VoterSet& VoterSetHistory::Latest() const {
  if (!entries_.empty()) return entries_.back().second;
  return initial_.has_value() ? *initial_ : none_;
}

const VoterSet& VoterSetHistory::At(Offset offset) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->first < offset) return entry->second;
  }
  return initial_.has_value() ? *initial_ : none_;
}

std::optional<Offset> VoterSetHistory::LatestOffset() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.back().first;
}

void VoterSetHistory::Append(Offset offset, VoterSet set) {
  if (!entries_.empty()) CHECK_GT(offset, entries_.back().first);
  entries_.emplace_back(offset, std::move(set));
}

void VoterSetHistory::TruncateTo(Offset offset) {
  while (!entries_.empty() && entries_.back().first >= offset) entries_.pop_back();
}

void VoterSetHistory::TrimPrefix(Offset offset) {
  while (entries_.size() >= 2 && entries_[1].first <= offset) entries_.erase(entries_.begin());
}

}  // namespace quorum

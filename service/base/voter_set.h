// VoterSet: the replicas whose votes and fetches count, ordered by replica key (KIP-853), and its
// history by offset. The set in force is the latest in the log, committed or not.
//
// Guarantees of a VoterSet:
//   1. no two voters share a node id;
//   2. voters are sorted by replica key.
// Guarantees of a VoterSetHistory:
//   1. entries are sorted by strictly rising offset;
//   2. truncating at offset T leaves exactly the entries below T, and the initial set.
//
// Thread: plain values.

#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "service/base/ids.h"

namespace quorum {

struct Voter {
  ReplicaKey key;
  // host:port as the voter set records it; empty where addresses come from the catalog.
  std::string endpoint;

  friend bool operator==(const Voter& a, const Voter& b) {
    return a.key == b.key && a.endpoint == b.endpoint;
  }
};

class VoterSet {
 public:
  VoterSet() = default;

  // Sorts the voters. CHECK-fails when they are not valid; see IsValid for foreign input.
  explicit VoterSet(std::vector<Voter> voters);

  // True when no two voters share a node id, no directory id is zero and each node id is positive.
  static bool IsValid(const std::vector<Voter>& voters);

  bool empty() const { return voters_.empty(); }
  size_t size() const { return voters_.size(); }
  std::vector<Voter>::const_iterator begin() const { return voters_.begin(); }
  std::vector<Voter>::const_iterator end() const { return voters_.end(); }

  // How many voters make a majority: floor(n/2) + 1. The set must not be empty.
  size_t Majority() const;

  // By exact key.
  bool Contains(const ReplicaKey& key) const;
  // The voter with that node id, whatever its directory; null when there is none.
  const Voter* FindNode(NodeId id) const;

  // The set with `voter` added; empty when its node id is in the set already.
  std::optional<VoterSet> Add(const Voter& voter) const;
  // The set without `key`; empty when it is no exact member or the last voter.
  std::optional<VoterSet> Remove(const ReplicaKey& key) const;
  // The set with the entry of the same key replaced; empty when it is no exact member.
  std::optional<VoterSet> Update(const Voter& voter) const;

  // True when at most one key was added or removed between the two sets, so that each majority of
  // this one meets each majority of `other`. (Larger even sets may overlap after two changes; those
  // are refused too.) False when either is empty, which has no majority.
  bool HasOverlappingMajority(const VoterSet& other) const;

  friend bool operator==(const VoterSet& a, const VoterSet& b) { return a.voters_ == b.voters_; }
  friend bool operator!=(const VoterSet& a, const VoterSet& b) { return !(a == b); }

 private:
  std::vector<Voter> voters_;
};

std::ostream& operator<<(std::ostream& out, const VoterSet& set);

class VoterSetHistory {
 public:
  VoterSetHistory() = default;
  // `initial` is in force until the log holds a set; it has no offset of its own.
  explicit VoterSetHistory(std::optional<VoterSet> initial) : initial_(std::move(initial)) {}

  // The set in force at the log end: the latest in the log, else the initial one, else empty.
  const VoterSet& Latest() const;
  // The set in force for a log that ends at `offset` (exclusive).
  const VoterSet& At(Offset offset) const;
  // The offset of the latest set in the log; empty while only an initial set (or none) is known.
  std::optional<Offset> LatestOffset() const;
  // The set that this replica was born with, which the log may or may not hold by now.
  const std::optional<VoterSet>& initial() const { return initial_; }
  const std::vector<std::pair<Offset, VoterSet>>& entries() const { return entries_; }

  // Adds the set of the record at `offset`, which must be above every entry.
  void Append(Offset offset, VoterSet set);
  // Forgets the sets at or above `offset`; the earlier one is in force again.
  void TruncateTo(Offset offset);
  // Forgets entries below the newest one at or below `offset` (a log prefix was removed).
  void TrimPrefix(Offset offset);

 private:
  std::optional<VoterSet> initial_;
  std::vector<std::pair<Offset, VoterSet>> entries_;
  VoterSet none_;
};

}  // namespace quorum

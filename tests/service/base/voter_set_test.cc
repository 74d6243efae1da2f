// Voter sets and their history by offset: C-151 of the conformance list, and the overlap predicate
// against all majorities of all small sets.

#include "service/base/voter_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace quorum {
namespace {

ReplicaKey Key(int32_t node, uint64_t directory = 1) {
  return ReplicaKey{NodeId(node), DirectoryId{0, directory}};
}

Voter At(int32_t node, const std::string& endpoint = "") { return Voter{Key(node), endpoint}; }

VoterSet Set(const std::vector<int32_t>& nodes) {
  std::vector<Voter> voters;
  for (const int32_t node : nodes) voters.push_back(At(node));
  return VoterSet(voters);
}

TEST(VoterSet, Construction_SortsByKey) {
  std::vector<int32_t> nodes;
  for (const Voter& voter : Set({3, 1, 2})) nodes.push_back(voter.key.id.value());
  EXPECT_EQ(nodes, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(Set({3, 1, 2}), Set({1, 2, 3}));
}

TEST(VoterSet, IsValid_RefusesWhatIsNoSetOfVoters) {
  EXPECT_TRUE(VoterSet::IsValid({}));
  EXPECT_TRUE(VoterSet::IsValid({At(1), At(2)}));
  EXPECT_FALSE(VoterSet::IsValid({At(1), At(1)}));
  EXPECT_FALSE(VoterSet::IsValid({At(2), At(1), Voter{Key(2, 9), ""}}));
  EXPECT_FALSE(VoterSet::IsValid({Voter{Key(1, 0), ""}}));
  EXPECT_FALSE(VoterSet::IsValid({At(0)}));
  EXPECT_FALSE(VoterSet::IsValid({At(-1)}));
}

TEST(VoterSetDeathTest, Construction_OfInvalidVoters_Dies) {
  EXPECT_DEATH(VoterSet({At(1), At(1)}), "duplicate");
}

TEST(VoterSet, Majority_IsMoreThanHalf) {
  const std::vector<size_t> expected = {1, 2, 2, 3, 3, 4, 4};
  std::vector<int32_t> nodes;
  for (size_t i = 0; i < expected.size(); ++i) {
    nodes.push_back(static_cast<int32_t>(i) + 1);
    EXPECT_EQ(Set(nodes).Majority(), expected[i]) << nodes.size();
  }
}

TEST(VoterSetDeathTest, Majority_OfNobody_Dies) { EXPECT_DEATH(VoterSet().Majority(), "empty"); }

TEST(VoterSet, Contains_LooksAtTheWholeKey) {
  const VoterSet set = Set({1, 2});
  EXPECT_TRUE(set.Contains(Key(1)));
  EXPECT_FALSE(set.Contains(Key(1, 2)));
  EXPECT_FALSE(set.Contains(Key(3)));
  EXPECT_FALSE(VoterSet().Contains(Key(1)));
}

TEST(VoterSet, FindNode_LooksAtTheNodeOnly) {
  const VoterSet set({Voter{Key(1, 7), "a:1"}});
  ASSERT_NE(set.FindNode(NodeId(1)), nullptr);
  EXPECT_EQ(set.FindNode(NodeId(1))->key, Key(1, 7));
  EXPECT_EQ(set.FindNode(NodeId(2)), nullptr);
}

TEST(VoterSet, Print_ListsTheKeys) {
  std::ostringstream out;
  out << Set({2, 1});
  EXPECT_EQ(out.str(), "[1@00000000,2@00000000]");
}

TEST(C151_VoterSet, Add_NewNode_JoinsTheSet) {
  EXPECT_EQ(Set({1, 3}).Add(At(2)), Set({1, 2, 3}));
  EXPECT_EQ(VoterSet().Add(At(2)), Set({2}));
}

TEST(C151_VoterSet, Add_ExistingNode_GivesNone) {
  EXPECT_EQ(Set({1, 2}).Add(At(2)), std::nullopt);
  // A wiped disk of a voter: the old key must be removed first.
  EXPECT_EQ(Set({1, 2}).Add(Voter{Key(2, 9), ""}), std::nullopt);
}

TEST(C151_VoterSet, Remove_Member_LeavesTheOthers) {
  EXPECT_EQ(Set({1, 2, 3}).Remove(Key(2)), Set({1, 3}));
}

TEST(C151_VoterSet, Remove_Missing_GivesNone) {
  EXPECT_EQ(Set({1, 2}).Remove(Key(3)), std::nullopt);
  EXPECT_EQ(Set({1, 2}).Remove(Key(2, 9)), std::nullopt);
}

TEST(C151_VoterSet, Remove_LastVoter_GivesNone) {
  EXPECT_EQ(Set({1}).Remove(Key(1)), std::nullopt);
}

TEST(C151_VoterSet, Update_Member_ReplacesItsEndpoint) {
  const VoterSet set({At(1, "a:1"), At(2, "b:2")});
  EXPECT_EQ(set.Update(At(2, "c:3")), VoterSet({At(1, "a:1"), At(2, "c:3")}));
  // Equality must see endpoints, or the line above proves nothing.
  EXPECT_NE(set.Update(At(2, "c:3")), set);
}

TEST(C151_VoterSet, Update_Missing_GivesNone) {
  EXPECT_EQ(Set({1, 2}).Update(At(3)), std::nullopt);
  EXPECT_EQ(Set({1, 2}).Update(Voter{Key(2, 9), ""}), std::nullopt);
}

TEST(C151_VoterSet, Overlap_NoOrOneChange_IsTrue) {
  EXPECT_TRUE(Set({1, 2, 3}).HasOverlappingMajority(Set({1, 2, 3})));
  EXPECT_TRUE(Set({1, 2, 3}).HasOverlappingMajority(Set({1, 2})));
  EXPECT_TRUE(Set({1, 2}).HasOverlappingMajority(Set({1, 2, 3})));
  EXPECT_TRUE(Set({1}).HasOverlappingMajority(Set({1, 2})));
}

TEST(C151_VoterSet, Overlap_TwoChanges_IsFalse) {
  EXPECT_FALSE(Set({1, 2, 3}).HasOverlappingMajority(Set({1, 2, 4})));
  EXPECT_FALSE(Set({1, 2, 3}).HasOverlappingMajority(Set({1})));
  EXPECT_FALSE(Set({1}).HasOverlappingMajority(Set({1, 2, 3})));
  EXPECT_FALSE(Set({1}).HasOverlappingMajority(Set({2})));
}

TEST(C151_VoterSet, Overlap_SameNodeOnAnotherDirectory_IsTwoChanges) {
  const VoterSet wiped({At(1), At(2), Voter{Key(3, 9), ""}});
  EXPECT_FALSE(Set({1, 2, 3}).HasOverlappingMajority(wiped));
}

TEST(C151_VoterSet, Overlap_WithNobody_IsFalse) {
  EXPECT_FALSE(VoterSet().HasOverlappingMajority(Set({1})));
  EXPECT_FALSE(Set({1}).HasOverlappingMajority(VoterSet()));
  EXPECT_FALSE(VoterSet().HasOverlappingMajority(VoterSet()));
}

// Sets of up to six nodes are bit masks below.
constexpr int kNodes = 6;

int Count(int mask) { return __builtin_popcount(static_cast<unsigned>(mask)); }

VoterSet SetOf(int mask) {
  std::vector<int32_t> nodes;
  for (int node = 0; node < kNodes; ++node) {
    if ((mask & (1 << node)) != 0) nodes.push_back(node + 1);
  }
  return Set(nodes);
}

std::vector<int> MajoritiesOf(int mask) {
  std::vector<int> majorities;
  for (int part = mask; part > 0; part = (part - 1) & mask) {
    if (2 * Count(part) > Count(mask)) majorities.push_back(part);
  }
  return majorities;
}

bool EachMajorityMeetsEachOther(int a, int b) {
  for (const int one : MajoritiesOf(a)) {
    for (const int other : MajoritiesOf(b)) {
      if ((one & other) == 0) return false;
    }
  }
  return true;
}

TEST(C151_VoterSet, Overlap_AllSetsOfSixNodes_NeverPromisesAnOverlapThatFails) {
  int promised = 0;
  int disjoint = 0;
  int refused_in_vain = 0;
  for (int a = 1; a < (1 << kNodes); ++a) {
    for (int b = 1; b < (1 << kNodes); ++b) {
      const bool predicate = SetOf(a).HasOverlappingMajority(SetOf(b));
      const bool overlap = EachMajorityMeetsEachOther(a, b);
      EXPECT_TRUE(overlap || !predicate) << a << " " << b;
      // One change is always allowed, and nothing else but no change is.
      EXPECT_EQ(predicate, Count(a ^ b) <= 1) << a << " " << b;
      promised += predicate ? 1 : 0;
      disjoint += overlap ? 0 : 1;
      refused_in_vain += overlap && !predicate ? 1 : 0;
    }
  }
  // All three kinds occur; the last one is what the header admits to.
  EXPECT_GT(promised, 0);
  EXPECT_GT(disjoint, 0);
  EXPECT_GT(refused_in_vain, 0);
}

VoterSetHistory HistoryOf(const std::vector<std::pair<int64_t, VoterSet>>& entries) {
  VoterSetHistory history(Set({1}));
  for (const auto& [offset, set] : entries) history.Append(Offset(offset), set);
  return history;
}

VoterSetHistory TypicalHistory() {
  return HistoryOf({{10, Set({1, 2})}, {20, Set({1, 2, 3})}, {30, Set({2, 3})}});
}

TEST(C151_VoterSetHistory, NothingKnown_IsEmpty) {
  const VoterSetHistory history;
  EXPECT_TRUE(history.Latest().empty());
  EXPECT_TRUE(history.At(Offset(100)).empty());
  EXPECT_EQ(history.LatestOffset(), std::nullopt);
  EXPECT_EQ(history.initial(), std::nullopt);
}

TEST(C151_VoterSetHistory, OnlyAnInitialSet_IsInForceEverywhere) {
  const VoterSetHistory history(Set({1, 2}));
  EXPECT_EQ(history.Latest(), Set({1, 2}));
  EXPECT_EQ(history.At(Offset(0)), Set({1, 2}));
  EXPECT_EQ(history.At(Offset(1000)), Set({1, 2}));
  EXPECT_EQ(history.LatestOffset(), std::nullopt);
}

TEST(C151_VoterSetHistory, At_GivesTheLastSetBelowTheLogEnd) {
  const VoterSetHistory history = TypicalHistory();
  EXPECT_EQ(history.At(Offset(0)), Set({1}));
  // A log that ends at 10 does not hold the record at offset 10.
  EXPECT_EQ(history.At(Offset(10)), Set({1}));
  EXPECT_EQ(history.At(Offset(11)), Set({1, 2}));
  EXPECT_EQ(history.At(Offset(20)), Set({1, 2}));
  EXPECT_EQ(history.At(Offset(21)), Set({1, 2, 3}));
  EXPECT_EQ(history.At(Offset(1000)), Set({2, 3}));
}

TEST(C151_VoterSetHistory, Latest_IsTheLastOneAppended) {
  const VoterSetHistory history = TypicalHistory();
  EXPECT_EQ(history.Latest(), Set({2, 3}));
  EXPECT_EQ(history.LatestOffset(), Offset(30));
  EXPECT_EQ(history.initial(), Set({1}));
}

TEST(C151_VoterSetHistoryDeathTest, Append_NotAboveTheLast_Dies) {
  VoterSetHistory history = TypicalHistory();
  EXPECT_DEATH(history.Append(Offset(30), Set({1})), "offset");
  EXPECT_DEATH(history.Append(Offset(29), Set({1})), "offset");
}

TEST(C151_VoterSetHistory, TruncateNew_BringsTheEarlierSetBack) {
  VoterSetHistory history = TypicalHistory();
  history.TruncateTo(Offset(31));
  EXPECT_EQ(history.Latest(), Set({2, 3}));
  history.TruncateTo(Offset(30));
  EXPECT_EQ(history.Latest(), Set({1, 2, 3}));
  history.TruncateTo(Offset(11));
  EXPECT_EQ(history.Latest(), Set({1, 2}));
  EXPECT_EQ(history.LatestOffset(), Offset(10));
  history.TruncateTo(Offset(0));
  EXPECT_EQ(history.Latest(), Set({1}));
  EXPECT_EQ(history.LatestOffset(), std::nullopt);
  // What was cut off may be written again, differently.
  history.Append(Offset(5), Set({1, 4}));
  EXPECT_EQ(history.Latest(), Set({1, 4}));
}

TEST(C151_VoterSetHistory, TruncateOld_KeepsTheNewestAtOrBelow) {
  const auto offsets_after = [](int64_t trim) {
    VoterSetHistory history = TypicalHistory();
    history.TrimPrefix(Offset(trim));
    std::vector<int64_t> offsets;
    for (const auto& entry : history.entries()) offsets.push_back(entry.first.value());
    EXPECT_EQ(history.Latest(), Set({2, 3}));
    EXPECT_EQ(history.initial(), Set({1}));
    return offsets;
  };
  EXPECT_EQ(offsets_after(0), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(offsets_after(10), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(offsets_after(19), (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(offsets_after(20), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(offsets_after(29), (std::vector<int64_t>{20, 30}));
  EXPECT_EQ(offsets_after(30), (std::vector<int64_t>{30}));
  EXPECT_EQ(offsets_after(1000), (std::vector<int64_t>{30}));
}

}  // namespace
}  // namespace quorum

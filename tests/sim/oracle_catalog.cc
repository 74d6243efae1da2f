#include "tests/sim/oracle_catalog.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "service/base/overloaded.h"
#include "service/base/record_codec.h"
#include "service/controller/catalog_records.h"
#include "storage/layout/key_codec.h"

namespace quorum::sim {
namespace {

using controller::Catalog;

bool SamePlan(const controller::PartitionPlan& a, const controller::PartitionPlan& b) {
  return a.id == b.id && a.assignment == b.assignment && a.life == b.life &&
         a.created_at == b.created_at && a.version == b.version;
}

bool SameTopic(const controller::Topic& a, const controller::Topic& b) {
  return a.id == b.id && a.name == b.name && a.partition_count == b.partition_count &&
         a.replica_count == b.replica_count;
}

// Two maps with the same keys, and values that `same` calls the same.
template <typename Map, typename Same>
bool SameMaps(const Map& a, const Map& b, const Same& same) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](const auto& left, const auto& right) {
           return left.first == right.first && same(left.second, right.second);
         });
}

bool SameCatalog(const Catalog& a, const Catalog& b) {
  return a.next_topic_id() == b.next_topic_id() && a.next_producer_id() == b.next_producer_id() &&
         a.brokers() == b.brokers() && a.names() == b.names() &&
         SameMaps(a.topics(), b.topics(), SameTopic) &&
         SameMaps(a.partitions(), b.partitions(), SamePlan);
}

}  // namespace

VoterSet MakeVoterSet(const std::vector<ReplicaKey>& keys) {
  std::vector<Voter> voters;
  voters.reserve(keys.size());
  for (const ReplicaKey& key : keys) voters.push_back(Voter{key, ""});
  return VoterSet(std::move(voters));
}

bool PartitionFact::NamesNode(NodeId node) const {
  return std::any_of(voters.begin(), voters.end(),
                     [&](const ReplicaKey& key) { return key.id == node; });
}

bool PartitionFact::NamesVoter(const ReplicaKey& key) const {
  return std::find(voters.begin(), voters.end(), key) != voters.end();
}

void CatalogOracle::OnFounded(const std::vector<ReplicaKey>& voters) {
  PartitionFact fact;
  fact.voters = voters;
  fact.created = true;
  partitions_[kMetadataPartition] = fact;
  oracle_.OnPartition(kMetadataPartition, MakeVoterSet(voters));
  for (const ReplicaKey& key : voters) {
    born_.insert({kMetadataPartition, key});
    oracle_.OnFounded(key);
  }
}

void CatalogOracle::Advance() {
  const ReplicaLog& log = oracle_.Committed(kMetadataPartition);
  for (; taken_ < log.size(); ++taken_) {
    const auto records = DecodeRecords(log[taken_]);
    if (!records.ok()) {
      failure_.Report("catalog", "the records at ", log[taken_].base_offset().value(),
                      " cannot be read");
      return;
    }
    for (const DecodedRecord& record : *records) {
      const auto decoded = controller::DecodeCatalogRecord(record.fields);
      if (!decoded.ok()) {
        failure_.Report("catalog", "the record at ", record.offset.value(), " cannot be read");
        return;
      }
      if (decoded->has_value()) Apply(record.offset, **decoded);
    }
    catalog_.AdvanceTo(log[taken_].next_offset());
  }
}

void CatalogOracle::Apply(Offset offset, const controller::CatalogRecord& record) {
  if (!catalog_.Apply(offset, record)) {
    failure_.Report("catalog", "the committed record at ", offset.value(),
                    " contradicts what was committed before it");
  }
  std::visit(Overloaded{
                 [&](const controller::Broker&) { statistics_.Add(Counter::kRegistrations); },
                 [&](const controller::Topic& topic) { OnTopic(offset, topic); },
                 [&](const controller::PartitionPlan& plan) { OnPlan(plan); },
                 [&](const controller::TopicDeletion& deletion) { OnDeletion(offset, deletion); },
                 [](const controller::NextIds&) {},
             },
             record);
}

void CatalogOracle::OnTopic(Offset offset, const controller::Topic& topic) {
  statistics_.Add(Counter::kTopicsCreated);
  if (!topics_.emplace(topic.id, TopicFact{topic.name, offset, std::nullopt}).second ||
      topics_.rbegin()->first != topic.id) {
    failure_.Report("catalog", "topic id ", topic.id.value(), " is given a second time");
  }
}

void CatalogOracle::OnPlan(const controller::PartitionPlan& plan) {
  const auto known = partitions_.find(plan.id);
  if (known != partitions_.end()) {
    if (known->second.voters != plan.assignment) {
      failure_.Report("catalog", ToText(plan.id), " is assigned to others than at its creation");
    }
    known->second.created = plan.life == controller::PartitionLife::kCreated;
    if (known->second.created && on_partition_) on_partition_(plan.id, known->second);
    return;
  }
  PartitionFact fact;
  fact.voters = plan.assignment;
  partitions_[plan.id] = fact;
  oracle_.OnPartition(plan.id, MakeVoterSet(plan.assignment));
  if (on_partition_) on_partition_(plan.id, fact);
}

void CatalogOracle::OnDeletion(Offset offset, const controller::TopicDeletion& deletion) {
  statistics_.Add(Counter::kTopicsDeleted);
  const auto topic = topics_.find(deletion.id);
  if (topic != topics_.end()) topic->second.deleted_at = offset;
  for (auto it = partitions_.begin(); it != partitions_.end();) {
    if (it->first.topic != deletion.id) {
      ++it;
      continue;
    }
    deleted_.insert(*it);
    it = partitions_.erase(it);
  }
}

void CatalogOracle::CheckNode(NodeId node, const Catalog& catalog) {
  if (catalog.position() > position()) {
    failure_.Report("catalog", "node ", node.value(), " has read up to ",
                    catalog.position().value(), "; committed is ", position().value());
  }
  Offset& compared = compared_[node];
  if (catalog.position() != position() || compared == position()) return;
  compared = position();
  if (SameCatalog(catalog, catalog_)) return;
  failure_.Report("catalog", "node ", node.value(), " holds another catalog at ",
                  position().value(), " than the records there say");
}

void CatalogOracle::OnSubmit(const ProcessId& process, const storage::WriteSet& set) {
  for (const storage::Write& write : set.writes) {
    std::visit(Overloaded{
                   [&](const storage::BirthReplica& birth) { CheckBirth(process, birth); },
                   [&](const storage::BuryReplica& burial) { CheckBurial(process, burial); },
                   [&](const storage::PutCatalogPosition& put) {
                     if (put.offset <= position()) return;
                     failure_.Report("catalog", ToText(process.key), " has acted up to ",
                                     put.offset.value(), "; committed is ", position().value());
                   },
                   [](const auto&) {},
               },
               write);
  }
}

void CatalogOracle::NoteBadBirth(const ProcessId& process, PartitionId partition,
                                 const char* what) {
  if (!bad_birth_.empty()) return;
  bad_birth_ = absl::StrCat(ToText(partition), " ", ToText(process.key), " starts from ", what);
}

void CatalogOracle::CheckBirth(const ProcessId& process, const storage::BirthReplica& birth) {
  statistics_.Add(Counter::kBirths);
  const bool held = !born_.insert({birth.partition, process.key}).second;
  const auto exists = partitions_.find(birth.partition);
  const auto gone = deleted_.find(birth.partition);
  if (exists == partitions_.end() && gone == deleted_.end()) {
    failure_.Report("birth", ToText(birth.partition), " ", ToText(process.key),
                    " is born, and no committed record has created it");
    return;
  }
  const PartitionFact& fact = exists != partitions_.end() ? exists->second : gone->second;
  const bool named = fact.NamesVoter(process.key);
  if (!birth.initial_voters.has_value()) {
    if (named && birth.partition != kMetadataPartition) statistics_.Add(Counter::kLateBirths);
    return;
  }
  if (!named || *birth.initial_voters != MakeVoterSet(fact.voters)) {
    NoteBadBirth(process, birth.partition, "first voters that the catalog does not name");
  } else if (held) {
    NoteBadBirth(process, birth.partition, "the first voters a second time");
  }
}

void CatalogOracle::CheckBurial(const ProcessId& process, const storage::BuryReplica& burial) {
  statistics_.Add(Counter::kBurials);
  const auto exists = partitions_.find(burial.partition);
  // Observers come and go without the catalog, which cannot name them yet.
  if (exists == partitions_.end() || !exists->second.NamesVoter(process.key)) return;
  failure_.Report("burial", ToText(burial.partition), " ", ToText(process.key),
                  " is buried, and no committed record has deleted it");
}

void CatalogOracle::OnStarted(const ReplicaKey& key, const storage::MemoryImage& image) {
  // What ever was born there keeps its quorum state.
  const auto& states = image.family(storage::ColumnFamily::kQuorumState);
  for (auto it = born_.begin(); it != born_.end();) {
    const bool lost = it->second == key && states.count(storage::PartitionKey(it->first)) == 0;
    it = lost ? born_.erase(it) : std::next(it);
  }
}

void CatalogOracle::Finish() {
  if (!bad_birth_.empty()) failure_.Report("birth", bad_birth_);
}

}  // namespace quorum::sim

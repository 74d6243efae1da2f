#include "client/metadata_cache.h"

#include <algorithm>
#include <utility>

#include "service/base/check.h"

namespace quorum::client {

MetadataCache::MetadataCache(std::vector<std::string> bootstrap)
    : bootstrap_(std::move(bootstrap)) {
  CHECK(!bootstrap_.empty()) << "a client needs at least one bootstrap address";
}

void MetadataCache::NoteLeader(const PartitionName& partition, NodeId node,
                               std::optional<Epoch> epoch, const std::string& address) {
  const auto found = leaders_.find(partition);
  if (found != leaders_.end()) {
    Leader& known = found->second;
    if (epoch.has_value() && *epoch < known.epoch) return;
    if (known.node != node || !address.empty()) known.address = address;
    known.node = node;
    if (epoch.has_value()) known.epoch = *epoch;
    return;
  }
  if (leaders_.size() >= kPartitionsMax) leaders_.erase(leaders_.begin());
  leaders_[partition] = Leader{node, epoch.value_or(Epoch(0)), address};
}

void MetadataCache::ForgetLeader(const PartitionName& partition) { leaders_.erase(partition); }

void MetadataCache::NoteNode(NodeId node, const std::string& address) {
  if (address.empty()) return;
  if (nodes_.count(node) == 0 && nodes_.size() >= kNodesMax) return;
  nodes_[node] = address;
}

void MetadataCache::NoteUnreachable(const std::string& address, MonoTime until) {
  if (avoid_until_.count(address) == 0 && avoid_until_.size() >= kNodesMax) {
    avoid_until_.erase(avoid_until_.begin());
  }
  avoid_until_[address] = until;
  if (answered_last_ == address) answered_last_.clear();
}

void MetadataCache::NoteReachable(const std::string& address) {
  avoid_until_.erase(address);
  answered_last_ = address;
}

std::string MetadataCache::LeaderAddress(const PartitionName& partition) const {
  const auto leader = leaders_.find(partition);
  if (leader == leaders_.end()) return "";
  if (!leader->second.address.empty()) return leader->second.address;
  const auto node = nodes_.find(leader->second.node);
  return node == nodes_.end() ? "" : node->second;
}

bool MetadataCache::LacksLeaderAddress(const PartitionName& partition) const {
  return leaders_.count(partition) > 0 && LeaderAddress(partition).empty();
}

std::vector<std::string> MetadataCache::Candidates(const std::optional<PartitionName>& partition,
                                                   MonoTime now) const {
  std::vector<std::string> ordered;
  const auto add = [&ordered](const std::string& address) {
    if (address.empty()) return;
    if (std::find(ordered.begin(), ordered.end(), address) != ordered.end()) return;
    ordered.push_back(address);
  };
  if (partition.has_value()) add(LeaderAddress(*partition));
  add(answered_last_);
  for (const std::string& address : bootstrap_) add(address);
  for (const auto& [node, address] : nodes_) add(address);

  const auto avoided_until = [this, now](const std::string& address) {
    const auto found = avoid_until_.find(address);
    return found == avoid_until_.end() || found->second <= now ? MonoTime::min() : found->second;
  };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&avoided_until](const std::string& a, const std::string& b) {
                     return avoided_until(a) < avoided_until(b);
                   });
  return ordered;
}

}  // namespace quorum::client

// Admin: topics, quorums and the cluster, for operators and for programs that manage their own
// topics.
//
//   QuorumClient client(options);
//   Admin admin(client);
//   Result<Topic> topic = admin.CreateTopic({"orders", /*partitions=*/3, /*replicas=*/3});
//   if (!topic.ok()) return topic.error();
//   for (const auto& entry : admin.DescribeTopicQuorums("orders").value().partitions()) ...
//   Result<Leadership> moved = admin.ElectLeader({"orders", 0}, NodeId(2));
//
// Each call waits for its answer, through failovers, CallOptions::timeout at most. What may be
// repeated is repeated (retry_policy.h). A change whose error MayHaveHappened may have been made:
// read it back.
//
// The messages in the results are those of proto/quorum/v1/admin.proto and log.proto, whose
// comments say what each field means. What has a field `error` in them is one partition's: see
// EntryErrorOf.
//
// Thread: any, also several at the same time, but not in a callback of the client. The client must
// live as long as a call.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/client_options.h"
#include "client/error.h"
#include "client/partition_name.h"
#include "quorum/v1/admin.pb.h"
#include "quorum/v1/log.pb.h"
#include "service/base/ids.h"

namespace quorum::client {

class QuorumClient;
struct ClientCore;

using Topic = v1::TopicDescription;
using TopicQuorums = v1::DescribeQuorumResponse::Topic;
using PartitionQuorum = v1::DescribeQuorumResponse::Partition;
using TopicOffsets = v1::ListOffsetsResponse::Topic;
using PartitionOffsets = v1::ListOffsetsResponse::Partition;
using ClusterDescription = v1::DescribeClusterResponse;

// A topic to create.
struct TopicSpec {
  // 1 to 249 characters of [a-zA-Z0-9._-], not beginning with "__".
  std::string name;
  // Range [1, 10000]; empty: 1.
  std::optional<uint32_t> partitions = {};
  // Of each partition. At least 1, at most the number of live nodes; empty: 3, or as many as there
  // are live nodes where that is less.
  std::optional<uint32_t> replicas = {};
};

// Who leads a partition, since when.
struct Leadership {
  NodeId leader;
  Epoch epoch;
};

// Whose word counts.
enum class View {
  // The leader's. A partition without one has an error in its entry.
  kLeader,
  // That of any node, marked as stale, without asking the leader.
  kAnyNode,
};

class Admin {
 public:
  explicit Admin(const QuorumClient& client);

  // Returns once the creation is committed; the leaders are elected after that. Errors:
  // INVALID_REQUEST, TOPIC_ALREADY_EXISTS, NOT_ENOUGH_NODES, REQUEST_TIMED_OUT.
  Result<Topic> CreateTopic(const TopicSpec& spec, CallOptions options = {}) const;

  // Deletes the topic with all its records, and returns the id that it had. With `topic_id`, only
  // that incarnation of the name. Errors: UNKNOWN_TOPIC_OR_PARTITION, INTERNAL_TOPIC,
  // REQUEST_TIMED_OUT.
  Result<uint64_t> DeleteTopic(const std::string& name, std::optional<uint64_t> topic_id = {},
                               CallOptions options = {}) const;

  // All topics by name, without their partitions, as one node knows them. `internal`: those of the
  // system too.
  Result<std::vector<Topic>> ListTopics(bool internal = false, CallOptions options = {}) const;

  // A topic with its partitions, as one node knows them. Errors: UNKNOWN_TOPIC_OR_PARTITION.
  Result<Topic> DescribeTopic(const std::string& name, CallOptions options = {}) const;

  // The quorum of each partition in `partitions`, of all when that is empty. Each entry has its own
  // error, which is not retried: a diagnosis waits for two seconds at most, where a partition has
  // no leader. Errors: UNKNOWN_TOPIC_OR_PARTITION.
  Result<TopicQuorums> DescribeTopicQuorums(const std::string& topic,
                                            std::vector<uint32_t> partitions = {},
                                            View view = View::kLeader,
                                            CallOptions options = {}) const;

  // The same of all partitions of several topics, in their order, in one call: an answer has room
  // for some 10,000 partitions. A topic has its own error. None of no topics.
  Result<std::vector<TopicQuorums>> DescribeQuorums(const std::vector<std::string>& topics,
                                                    View view = View::kLeader,
                                                    CallOptions options = {}) const;

  // The same of one partition, whose error is the result's.
  Result<PartitionQuorum> DescribeQuorum(const PartitionName& partition, View view = View::kLeader,
                                         CallOptions options = {}) const;

  // Where the logs of the partitions begin and end, as their leaders know. Errors of entries that
  // may pass are waited for; those that are left are in the entries.
  Result<TopicOffsets> ListOffsets(const std::string& topic, std::vector<uint32_t> partitions = {},
                                   CallOptions options = {}) const;

  // The cluster's id, controller and nodes, as one node knows them.
  Result<ClusterDescription> DescribeCluster(CallOptions options = {}) const;

  // Asks the leader of the partition to hand over to `node`, or to the first replica of its
  // assignment. Returns who leads once that is known. Errors: UNKNOWN_TOPIC_OR_PARTITION,
  // VOTER_NOT_FOUND, REQUEST_TIMED_OUT.
  Result<Leadership> ElectLeader(const PartitionName& partition, std::optional<NodeId> node = {},
                                 CallOptions options = {}) const;

 private:
  const std::shared_ptr<ClientCore> core_;
};

// The error of an entry; empty when it has none.
template <typename Entry>
std::optional<Error> EntryErrorOf(const Entry& entry) {
  if (!entry.has_error()) return std::nullopt;
  return ErrorFromStatus(entry.error());
}

}  // namespace quorum::client

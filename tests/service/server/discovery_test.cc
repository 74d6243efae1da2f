#include "service/server/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "service/base/voter_set.h"

namespace quorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr DirectoryId kFirst{1, 1};
constexpr DirectoryId kSecond{2, 2};
constexpr DirectoryId kThird{3, 3};

v1::MetadataResponse::Partition* AddMetadata(v1::MetadataResponse* response) {
  v1::MetadataResponse::Topic* topic = response->add_topics();
  topic->set_topic_id(kMetadataPartition.topic.value());
  return topic->add_partitions();
}

void AddReplica(int32_t node, const DirectoryId& directory,
                v1::MetadataResponse::Partition* partition) {
  v1::ReplicaKey* replica = partition->add_replicas();
  replica->set_node_id(node);
  replica->set_directory_id(directory.ToBytes());
}

TEST(ReadMetadataTest, TheLeaderIsAskedFirst) {
  v1::MetadataResponse response;
  v1::MetadataResponse::Partition* partition = AddMetadata(&response);
  partition->set_leader_id(2);
  partition->set_leader_directory_id(kSecond.ToBytes());
  AddReplica(1, kFirst, partition);
  AddReplica(2, kSecond, partition);
  response.mutable_responder()->set_node_id(3);
  response.mutable_responder()->set_directory_id(kThird.ToBytes());
  EXPECT_THAT(ReadMetadata(response, "h:1").peers,
              ElementsAre(ReplicaKey{NodeId(2), kSecond}, ReplicaKey{NodeId(1), kFirst},
                          ReplicaKey{NodeId(3), kThird}));
}

TEST(ReadMetadataTest, WithoutALeaderTheRespondersOwnReplicaIsAsked) {
  v1::MetadataResponse response;
  response.mutable_responder()->set_node_id(3);
  response.mutable_responder()->set_directory_id(kThird.ToBytes());
  const Discovered found = ReadMetadata(response, "h:1");
  EXPECT_THAT(found.peers, ElementsAre(ReplicaKey{NodeId(3), kThird}));
  EXPECT_THAT(found.addresses, ElementsAre(Pair(NodeId(3), "h:1")));
}

TEST(ReadMetadataTest, TheCatalogsAddressComesLastAndSoCounts) {
  v1::MetadataResponse response;
  response.mutable_responder()->set_node_id(1);
  v1::MetadataResponse::Broker* broker = response.add_brokers();
  broker->mutable_identity()->set_node_id(1);
  broker->add_endpoints()->set_address("pod-1:7101");
  EXPECT_THAT(ReadMetadata(response, "service:7101").addresses,
              ElementsAre(Pair(NodeId(1), "service:7101"), Pair(NodeId(1), "pod-1:7101")));
}

TEST(ReadMetadataTest, WhatIsMalformedIsLeftOut) {
  v1::MetadataResponse response;
  v1::MetadataResponse::Partition* partition = AddMetadata(&response);
  partition->set_leader_id(2);
  partition->set_leader_directory_id("short");
  AddReplica(0, kFirst, partition);
  AddReplica(1, DirectoryId{}, partition);
  response.add_brokers()->mutable_identity()->set_node_id(1);
  const Discovered found = ReadMetadata(response, "h:1");
  EXPECT_THAT(found.peers, IsEmpty());
  EXPECT_THAT(found.addresses, IsEmpty());
}

TEST(ReadMetadataTest, OtherTopicsSayNothing) {
  v1::MetadataResponse response;
  v1::MetadataResponse::Partition* partition = AddMetadata(&response);
  AddReplica(1, kFirst, partition);
  response.mutable_topics(0)->set_topic_id(17);
  EXPECT_THAT(ReadMetadata(response, "h:1").peers, IsEmpty());
}

// A node that joins is told of a leader, notes it, and is restarted before it has read anything. If
// the disk of that leader is gone for ever meanwhile, only the bootstrap list helps.
TEST(FindsItsWayTest, ALeaderThatWasOnlyToldOfIsNotEnough) {
  shard::PartitionDescription metadata;
  metadata.hint.leader = ReplicaKey{NodeId(2), kSecond};
  EXPECT_FALSE(FindsItsWay(metadata, true));
  metadata.voters = VoterSet({Voter{ReplicaKey{NodeId(2), kSecond}, ""}});
  EXPECT_TRUE(FindsItsWay(metadata, true));
  EXPECT_FALSE(FindsItsWay(metadata, false));
}

}  // namespace
}  // namespace quorum::server

// Makes sure that a topic exists, and gives each of its partitions the leader that its assignment
// prefers.
//
//   admin 127.0.0.1:7101,127.0.0.1:7102 orders
//
// Exit codes: 0 done, 1 failed, 2 wrong arguments.

#include "client/admin.h"

#include <iostream>
#include <string>

#include "client/bootstrap.h"
#include "client/quorum_client.h"

using quorum::NodeId;
using quorum::client::Admin;
using quorum::client::ClientOptions;
using quorum::client::Leadership;
using quorum::client::ParseBootstrap;
using quorum::client::QuorumClient;
using quorum::client::Result;
using quorum::client::Topic;
namespace v1 = quorum::v1;

namespace {

// The topic, made now or before. Creating is not repeated after a lost answer, because it might
// have been done; asking for what exists decides it.
Result<Topic> EnsureTopic(const Admin& admin, const std::string& name) {
  Result<Topic> created = admin.CreateTopic({name, /*partitions=*/3});
  if (created.ok()) std::cout << "created " << name << "\n";
  const bool exists = created.ok() ||
                      created.error().reason == v1::ERROR_REASON_TOPIC_ALREADY_EXISTS ||
                      MayHaveHappened(created.error());
  return exists ? admin.DescribeTopic(name) : created;
}

}  // namespace

int main(int argc, char** argv) {
  const auto bootstrap = ParseBootstrap(argc == 3 ? argv[1] : "");
  if (!bootstrap.ok()) {
    std::cerr << "usage: admin HOST:PORT,... TOPIC\n";
    return 2;
  }
  const std::string name = argv[2];
  ClientOptions options;
  options.bootstrap = *bootstrap;
  QuorumClient client(options);
  const Admin admin(client);
  const Result<Topic> topic = EnsureTopic(admin, name);
  if (!topic.ok()) {
    std::cerr << topic.error().ToString() << "\n";
    return 1;
  }
  bool failed = false;
  for (const Topic::Partition& partition : topic.value().partitions()) {
    const NodeId preferred(partition.replicas(0).node_id());
    std::cout << name << ":" << partition.partition() << " ";
    const Result<Leadership> led = admin.ElectLeader({name, partition.partition()}, preferred);
    if (led.ok()) {
      std::cout << "is led by node " << led.value().leader.value() << " in epoch "
                << led.value().epoch.value() << "\n";
    } else {
      std::cout << "keeps its leader: " << led.error().ToString() << "\n";
      failed = true;
    }
  }
  return failed ? 1 : 0;
}

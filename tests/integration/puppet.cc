#include "tests/integration/puppet.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "service/base/check.h"

namespace quorum::integration {

std::string DirectoryBytes(const std::string& text) {
  return absl::HexStringToBytes(absl::StrReplaceAll(text, {{"-", ""}}));
}

class Puppet::Voter : public v1::VoterService::Service {
 public:
  explicit Voter(Puppet* puppet) : puppet_(puppet) {}

  grpc::Status Vote(grpc::ServerContext*, const v1::VoteRequest* request,
                    v1::VoteResponse* response) override {
    *response->mutable_responder() = puppet_->Identity();
    for (const auto& topic : request->topics()) {
      auto* answered = response->add_topics();
      answered->set_topic_id(topic.topic_id());
      for (const auto& partition : topic.partitions()) {
        auto* granted = answered->add_partitions();
        granted->set_partition(partition.partition());
        granted->set_leader_epoch(partition.replica_epoch());
        granted->set_vote_granted(true);
        if (!partition.pre_vote()) ++puppet_->votes_;
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status BeginQuorumEpoch(grpc::ServerContext*, const v1::BeginQuorumEpochRequest* request,
                                v1::BeginQuorumEpochResponse* response) override {
    *response->mutable_responder() = puppet_->Identity();
    for (const auto& topic : request->topics()) {
      auto* answered = response->add_topics();
      answered->set_topic_id(topic.topic_id());
      for (const auto& partition : topic.partitions()) {
        auto* taken = answered->add_partitions();
        taken->set_partition(partition.partition());
        taken->set_leader_epoch(partition.leader_epoch());
        taken->set_leader_id(request->envelope().from().node_id());
        taken->set_leader_directory_id(request->envelope().from().directory_id());
      }
    }
    return grpc::Status::OK;
  }

 private:
  Puppet* const puppet_;
};

Puppet::Puppet(const Node& node) : node_(node), voter_(std::make_unique<Voter>(this)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(node.address(), grpc::InsecureServerCredentials());
  builder.RegisterService(voter_.get());
  server_ = builder.BuildAndStart();
  CHECK(server_ != nullptr) << node.address() << " is in use";
}

Puppet::~Puppet() { server_->Shutdown(std::chrono::system_clock::time_point::min()); }

v1::PeerIdentity Puppet::Identity() const {
  v1::PeerIdentity identity;
  identity.set_node_id(node_.id());
  identity.set_directory_id(DirectoryBytes(node_.directory_id()));
  identity.set_incarnation(1);
  return identity;
}

v1::Envelope Puppet::EnvelopeTo(const Node& receiver) const {
  v1::Envelope envelope;
  envelope.set_cluster_id("test");
  *envelope.mutable_from() = Identity();
  envelope.mutable_to()->set_node_id(receiver.id());
  envelope.mutable_to()->set_directory_id(DirectoryBytes(receiver.directory_id()));
  envelope.set_lane(0);
  return envelope;
}

}  // namespace quorum::integration

#include <string>

#include "client/quorumctl/entries.h"
#include "client/quorumctl/table.h"
#include "client/quorumctl/verbs.h"

namespace quorum::client::quorumctl {
namespace {

std::string LiveOf(const ClusterDescription::Node& node) {
  if (!node.has_live()) return "";
  return node.live() ? "yes" : "no";
}

std::string AddressesOf(const ClusterDescription::Node& node) {
  std::string addresses;
  for (const v1::Endpoint& endpoint : node.endpoints()) {
    absl::StrAppend(&addresses, addresses.empty() ? "" : " ", endpoint.listener(),
                    endpoint.listener().empty() ? "" : "=", endpoint.address());
  }
  return addresses;
}

}  // namespace

ExitCode RunVerb(const ClusterDescribe&, Session& session) {
  const Result<ClusterDescription> result = session.admin.DescribeCluster(session.Call());
  if (!result.ok()) {
    return session.Fail(CallKind::kRead, "describe cluster", result.error(),
                        "quorumctl cluster describe --help");
  }
  session.ClearProgress();
  const ClusterDescription& cluster = result.value();
  if (session.json) {
    session.streams.out << Line(ToJson(cluster));
    return ExitCode::kDone;
  }
  Table table({{"NODE", Table::Align::kRight}, {"LIVE"}, {"ADDRESS"}, {"VERSION"}, {"DIRECTORY"}});
  for (const auto& node : cluster.nodes()) {
    table.AddRow({absl::StrCat(node.node_id()), LiveOf(node), AddressesOf(node),
                  node.software_version(), node.directory_id()});
  }
  const std::string controller = Cell(cluster.has_controller_id(), cluster.controller_id());
  const std::string epoch = Cell(cluster.has_controller_epoch(), cluster.controller_epoch());
  session.streams.out << "cluster " << cluster.cluster_id() << "  controller "
                      << (controller.empty() ? "-" : controller) << "  epoch "
                      << (epoch.empty() ? "-" : epoch) << "  topics " << cluster.topic_count()
                      << "  partitions " << cluster.partition_count() << "\n\n"
                      << table.ToString();
  return ExitCode::kDone;
}

}  // namespace quorum::client::quorumctl

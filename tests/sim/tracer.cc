#include "tests/sim/tracer.h"

#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quorum::sim {
namespace {

std::string NodeName(NodeId node) {
  return node == NodeId(0) ? "world " : absl::StrCat("node ", node.value());
}

void AppendKey(const ReplicaKey& key, std::string* text) {
  absl::StrAppend(text, key.id.value(), "/", key.directory.high & 0xffff);
}

}  // namespace

void Tracer::Add(NodeId node, std::string line) {
  for (const char c : line) Mix(static_cast<unsigned char>(c));
  if (out_ != nullptr) *out_ << line << '\n';
  std::deque<std::string>& lines = lines_[node];
  lines.push_back(std::move(line));
  if (lines.size() > kLinesMax) lines.pop_front();
}

void Tracer::Note(NodeId node, absl::string_view text) {
  const double ms = static_cast<double>(queue_.now().count()) / 1e6;
  Add(node, absl::StrFormat("%11.3f ms  %s  %s", ms, NodeName(node), text));
}

void Tracer::Trace(NodeId node, PartitionId partition, const raft::TraceEvent& event) {
  // The watermark moves all the time: hashed, and shown only to those who watch everything.
  if (event.kind == raft::TraceKind::kHighWatermark && out_ == nullptr) {
    Mix(static_cast<uint64_t>(queue_.now().count()));
    Mix(static_cast<uint64_t>(event.offset.value()));
    return;
  }
  std::string text = absl::StrCat("[", partition.topic.value(), ":", partition.index, "] ",
                                  raft::Name(event.kind), " epoch=", event.epoch.value());
  if (event.kind == raft::TraceKind::kTransition) {
    absl::StrAppend(&text, " ", raft::Name(event.from), "->", raft::Name(event.to));
  }
  if (event.leader.has_value()) {
    absl::StrAppend(&text, " leader=");
    AppendKey(*event.leader, &text);
  }
  if (event.peer.has_value()) {
    absl::StrAppend(&text, " peer=");
    AppendKey(*event.peer, &text);
  }
  absl::StrAppend(&text, " offset=", event.offset.value(), " (", event.reason, ")");
  Note(node, text);
}

void Tracer::PrintTail(std::ostream& out) const {
  for (const auto& [node, lines] : lines_) {
    out << "--- last lines of " << NodeName(node) << ":\n";
    for (const std::string& line : lines) out << line << '\n';
  }
}

}  // namespace quorum::sim

#include "service/transport/fencing.h"

#include "absl/strings/str_cat.h"

namespace quorum::transport {

std::optional<CallError> RefuseOldProcess(const controller::CatalogView& catalog,
                                          const shard::PeerIdentity& sender) {
  if (!sender.incarnation.has_value()) return std::nullopt;
  const std::optional<Incarnation> newest = catalog.Registered(sender.key);
  if (!newest.has_value() || *newest <= *sender.incarnation) return std::nullopt;
  return CallError(v1::ERROR_REASON_FENCED_INCARNATION,
                   absl::StrCat("process ", newest->value(), " of this data directory has ",
                                "registered since process ", sender.incarnation->value()))
      .With("incarnation", absl::StrCat(newest->value()));
}

}  // namespace quorum::transport

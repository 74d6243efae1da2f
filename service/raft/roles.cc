#include "service/raft/roles.h"

#include <variant>

#include "service/base/overloaded.h"

namespace quorum::raft {

RoleKind KindOf(const Role& role) {
  return std::visit(Overloaded{
                        [](const Unattached&) { return RoleKind::kUnattached; },
                        [](const Prospective&) { return RoleKind::kProspective; },
                        [](const Candidate&) { return RoleKind::kCandidate; },
                        [](const Leader&) { return RoleKind::kLeader; },
                        [](const Follower&) { return RoleKind::kFollower; },
                        [](const Resigned&) { return RoleKind::kResigned; },
                    },
                    role);
}

}  // namespace quorum::raft

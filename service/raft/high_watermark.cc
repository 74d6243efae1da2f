#include "service/raft/high_watermark.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "service/base/check.h"
#include "service/base/plant.h"

namespace quorum::raft {

std::optional<Offset> MajorityOffset(std::vector<std::optional<Offset>> durable_ends) {
  CHECK(!durable_ends.empty());
  // An empty optional orders below every offset, so the unknown ones come last.
  std::sort(durable_ends.begin(), durable_ends.end(), std::greater<>());
  size_t index = durable_ends.size() / 2;
  if (Planted(Plant::kM04) && index > 0) --index;
  return durable_ends[index];
}

}  // namespace quorum::raft

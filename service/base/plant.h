// Planted bugs: the test of the tests (reliability.md 6.4). The testing flavour of core, shard and
// storage, built with QUORUM_PLANTS, holds them all and switches one on at run time; the simulator
// must then find it. In the release flavour Planted() is a constant false and no trace of a plant
// is left.
//
// Thread: SetPlant before any other thread starts; Planted from anywhere.

#pragma once

#include "absl/strings/string_view.h"

namespace quorum {

enum class Plant {
  kNone,
  kM01,  // A vote is answered before it is durable.
  kM03,  // A leader goes on leading its epoch after a restart.
  kM04,  // A majority is n/2.
  kM05,  // The leader counts its unsynced tail.
  kM06,  // A follower fetches on before its append is synced.
  kM07,  // The watermark shows at the epoch start instead of past it.
  kM09,  // A diverging fetch moves the follower's progress.
  kM10,  // Truncation below the watermark is allowed.
  kM11,  // The epoch index is not cut with the log.
  kM13,  // A parked fetch is left hanging when leadership is lost.
  kM33,  // A read is answered without proof of leadership.
  kM37,  // A completion from before a truncation raises the durable end.
  kM38,  // A replica opened late starts from the partition's first voters.
  kM39,  // A changed partition is left out of its session instead of withdrawn.
  kM40,  // The acked floor is raised before the sync that it covers.
  kM41,  // A recovered, never synced tail is acknowledged after a restart.
  kM42,  // A duplicate of an uncommitted batch is acknowledged at once.
  kM43,  // An append in the log is answered "not leader" when leadership is lost.
  kM44,  // Producer state is not undone by truncation.
  kM45,  // Producer state expires by a local clock.
  kM46,  // A forwarder repeats an append of unknown outcome.
  kM47,  // The condition of an append is judged against the high watermark.
  kM48,  // A session answer from before a read counts as its proof.
  kM50,  // The condition of an append is judged against the log end.
  kM51,  // A restart loses the producer states above those that are stored.
  kM52,  // A retry is judged by its condition before it is known for a duplicate.
};

#ifdef QUORUM_PLANTS

namespace plants {
// Switches one plant on for the process; kNone switches it off.
void SetPlant(Plant plant);
// The plant named like "M07"; kNone when there is none of that name.
Plant ParsePlant(absl::string_view name);
bool IsActive(Plant plant);
}  // namespace plants

inline bool Planted(Plant plant) { return plants::IsActive(plant); }

#else

constexpr bool Planted(Plant) { return false; }

#endif

}  // namespace quorum

// FetchSizes: how many bytes of records a Fetch asks each peer for, so that a follower makes
// progress over a slow link.
//
// An answer that the link cannot carry in time is lost as a whole, and a Fetch that asks for as
// much again loses it again, for ever. So after one that failed or was answered late, the next asks
// for half as much, and after one that was answered quickly for twice of what came. One whole batch
// always comes, so a link must carry the largest batch within the fetch timeout.
//
// Finding out takes about as long as the link needs for twice the most: what a timed-out Fetch had
// asked for still has to drain before the next answer gets through.
//
// In the good case, where every Fetch asks for the most, nothing is kept. What is kept outlives the
// session, which ends with the failure, and is of one link, so that a slow peer slows no other.
//
// Thread: the shard thread.

#pragma once

#include <cstddef>
#include <map>

#include "service/base/ids.h"
#include "service/base/time.h"

namespace quorum::shard {

// The follower's end of a session is with a replica key: a wiped disk is another peer.
struct LinkKey {
  ReplicaKey peer;
  Lane lane;
  friend bool operator<(const LinkKey& a, const LinkKey& b) {
    return a.peer != b.peer ? a.peer < b.peer : a.lane < b.lane;
  }
};

class FetchSizes {
 public:
  // No Fetch asks for less, unless `most` is less.
  static constexpr size_t kLeast = 16 << 10;

  // A follower that hears nothing of its leader for `fetch_timeout` gives it up.
  FetchSizes(size_t most, Duration fetch_timeout);

  // What the next Fetch may ask the peer for.
  size_t Next(const LinkKey& link) const;

  // A Fetch that asked for `asked` bytes has failed: it timed out or its connection broke.
  //
  // Nothing tells a peer that is dead from a link that is slow, so both are asked for less: a peer
  // that was dead for long is asked for kLeast first. That is what the moment wants: an answer that
  // is sure to come keeps the leader in office, while all lanes come back over one connection. And
  // it does not last: each full answer that comes quickly doubles what is asked for next, so ten of
  // them later, moments in a healthy network, that is the most again.
  void OnFailure(const LinkKey& link, size_t asked, MonoTime now);

  // It was answered with `bytes` of records after `took`. An answer without records says nothing of
  // the link.
  void OnAnswer(const LinkKey& link, size_t asked, size_t bytes, Duration took, MonoTime now);

  // The links of which something is kept.
  size_t link_count() const { return sizes_.size(); }

 private:
  struct Size {
    size_t bytes = 0;
    MonoTime noted_at;
  };

  const size_t most_;
  const size_t least_;
  // Longer than this is late: the next answer may not come before the leader is given up.
  const Duration late_;
  // Twice as much as came in this time will not be late.
  const Duration quick_;
  // Those below `most_` only.
  std::map<LinkKey, Size> sizes_;
};

}  // namespace quorum::shard

// FollowerSession: the follower's end of a fetch session (KIP-227; architecture.md 4), one per
// (leader node, lane). It turns the Fetches of many partitions into few requests: an entry is named
// when its position moved, and left out while "same epoch, same durable offset, still your
// follower" holds.
//
// Rules that keep it safe:
//   1. absence is a claim, so a replica that changes role or epoch, is quarantined or closed is
//      withdrawn, or named anew, in the very next request, however full that is;
//   2. an answer is taken for an entry only if it answers a request at or after the one that named
//      it, and answers are taken in the order in which they were sent;
//   3. an answer vouches for the leader only to entries that wait, were not withdrawn by the
//      leader, and were named in a request that it, or an earlier answer, has answered;
//   4. any error, time-out, gap or change of the leader's incarnation ends the session: every
//      waiting entry is failed, and the next request opens another session and names what is named
//      anew.
//
// At most two requests are out: the second takes over the entries of a parked first one.
//
// Thread: the shard thread of the lane.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "service/base/ids.h"
#include "service/base/time.h"
#include "service/raft/event.h"
#include "service/shard/peer_messages.h"

namespace quorum::shard {

class FollowerSession {
 public:
  // What an answer, or the end of the session, means for one partition.
  struct Delivery {
    PartitionId partition;
    raft::Correlation correlation;
    // Absent: the Fetch failed.
    std::optional<FetchAnswerEntry> answer;
  };

  // `next_session_id` is shared by all sessions of the shard, so that ids rise within an
  // incarnation. A request names `entries_max` entries at most; withdrawals are not counted.
  FollowerSession(uint64_t* next_session_id, uint32_t lane_count, size_t entries_max);

  // The replica's Fetch is to be sent. Replaces what the session said of the partition.
  void Name(const FetchEntry& entry, const raft::Correlation& correlation);

  // The replica takes back what the session says of it. Nothing happens when it says nothing.
  void Withdraw(PartitionId partition);

  // The next request, when one is due and fewer than two are out. The caller sends it and reports
  // its answer under the same place.
  std::optional<FetchBatch> NextRequest();

  // The answer to a request of this session, or nothing when it failed.
  std::vector<Delivery> OnAnswer(const SessionRequestPlace& place,
                                 const std::optional<LaneResponse>& response, MonoTime now);

  // When the leader last vouched for the partition, for a Fetch of that role incarnation.
  std::optional<MonoTime> LastSeen(PartitionId partition, uint64_t incarnation) const;

  // The leader's incarnation, once an answer has named it.
  const std::optional<Incarnation>& leader_incarnation() const { return leader_incarnation_; }
  bool open() const { return session_id_ != 0; }
  size_t entry_count() const { return entries_.size(); }
  // Nothing is said, due or out: the session may be forgotten.
  bool idle() const { return entries_.empty() && to_withdraw_.empty() && in_flight_ == 0; }

 private:
  struct Entry {
    raft::Correlation correlation;
    FetchEntry position;
    bool waiting = true;
    // False once the leader has withdrawn it; its answer is still to come.
    bool vouched = true;
    // The request that named it; 0 while it is still to be named.
    uint64_t named_in = 0;
  };

  bool HasWork() const;
  bool TakesAnswer(const SessionRequestPlace& place, const LaneResponse& response,
                   FetchAnswer* answer) const;
  void Deliver(const FetchAnswer& answer, MonoTime now, std::vector<Delivery>* deliveries);
  void DeliverEntry(const FetchAnswerEntry& answered, uint64_t request_number,
                    std::vector<Delivery>* deliveries);
  std::vector<Delivery> End();

  uint64_t* const next_session_id_;
  const uint32_t lane_count_;
  const size_t entries_max_;

  uint64_t session_id_ = 0;
  uint64_t last_request_ = 0;
  size_t in_flight_ = 0;
  std::map<PartitionId, Entry> entries_;
  std::set<PartitionId> to_name_;
  std::set<PartitionId> to_withdraw_;

  std::optional<Incarnation> leader_incarnation_;
  uint64_t last_answer_ = 0;
  // Answers that overtook an earlier one; at most one, since two requests are out.
  std::map<uint64_t, FetchAnswer> early_answers_;
  uint64_t answered_request_ = 0;
  MonoTime answered_at_;
};

}  // namespace quorum::shard

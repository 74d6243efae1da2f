#include "tests/service/transport/random_messages.h"

#include <chrono>
#include <optional>
#include <sstream>
#include <variant>

#include "absl/strings/escaping.h"
#include "service/base/overloaded.h"
#include "service/base/record_codec.h"

namespace quorum::transport {
namespace {

using raft::KnownHighWatermark;
using raft::RaftError;

PartitionId RandomPartition(Prng* prng) {
  return PartitionId{TopicId(1 + prng->Below(3)), static_cast<uint32_t>(prng->Below(4))};
}

// Zero, small, or anything below the limit.
int64_t RandomPosition(Prng* prng) {
  if (prng->Chance(300'000)) return 0;
  return static_cast<int64_t>(prng->Below(prng->Chance(500'000) ? 1000 : uint64_t{1} << 62));
}

shard::FetchEntry RandomFetchEntry(Prng* prng, PartitionId partition) {
  shard::FetchEntry entry;
  entry.partition = partition;
  entry.withdraw = prng->Chance(200'000);
  if (entry.withdraw) return entry;
  entry.current_leader_epoch = Epoch(RandomPosition(prng));
  entry.fetch_offset = Offset(RandomPosition(prng));
  entry.last_fetched_epoch = Epoch(RandomPosition(prng));
  entry.known_high_watermark = static_cast<KnownHighWatermark>(prng->Below(3));
  if (entry.known_high_watermark == KnownHighWatermark::kKnown) {
    entry.high_watermark = Offset(RandomPosition(prng));
  }
  return entry;
}

shard::FetchBatch RandomFetch(Prng* prng) {
  shard::FetchBatch batch;
  if (prng->Chance(700'000)) {
    batch.session = shard::SessionRequestPlace{prng->Next(), prng->Next(), prng->Next(),
                                               static_cast<uint32_t>(prng->Next())};
  }
  batch.max_wait = std::chrono::milliseconds(prng->Below(10'000));
  batch.max_bytes = prng->Below(10'000'000);
  for (uint64_t i = prng->Below(6); i > 0; --i) {
    batch.entries.push_back(RandomFetchEntry(prng, RandomPartition(prng)));
  }
  return batch;
}

shard::LaneRequestBody RandomBody(Prng* prng) {
  const uint64_t kind = prng->Below(4);
  if (kind == 3) return RandomFetch(prng);
  shard::VoteBatch votes;
  shard::BeginBatch begins;
  shard::EndBatch ends;
  for (uint64_t i = prng->Below(6); i > 0; --i) {
    const PartitionId id = RandomPartition(prng);
    const Epoch epoch(RandomPosition(prng));
    votes.entries.push_back({id,
                             epoch,
                             {Offset(RandomPosition(prng)), Epoch(RandomPosition(prng))},
                             prng->Chance(500'000)});
    begins.entries.push_back({id, epoch});
    ends.entries.push_back({id, epoch, {}});
    for (uint64_t j = prng->Below(3); j > 0; --j) {
      ends.entries.back().preferred_successors.push_back(RandomKey(prng));
    }
  }
  if (kind == 0) return votes;
  if (kind == 1) return begins;
  return ends;
}

raft::ResponseHeader RandomHeader(Prng* prng) {
  raft::ResponseHeader header;
  header.error = static_cast<RaftError>(prng->Below(10));
  header.epoch = Epoch(RandomPosition(prng));
  if (prng->Chance(500'000)) header.leader = RandomKey(prng);
  return header;
}

std::ostream& operator<<(std::ostream& out, const shard::PeerIdentity& identity) {
  out << identity.key;
  if (identity.incarnation.has_value()) out << "#" << *identity.incarnation;
  return out;
}

std::ostream& operator<<(std::ostream& out, const raft::ResponseHeader& header) {
  out << header.error << " epoch " << header.epoch;
  if (header.leader.has_value()) out << " leader " << *header.leader;
  return out;
}

void PrintFetch(const shard::FetchBatch& batch, std::ostream& out) {
  out << "fetch " << batch.anonymous << " " << batch.max_wait.count() << " " << batch.max_bytes;
  if (batch.session.has_value()) {
    out << " session " << batch.session->session_id << " " << batch.session->request_number << " "
        << batch.session->newest_answer_seen << " " << batch.session->lane_count;
  }
  for (const shard::FetchEntry& entry : batch.entries) {
    out << "\n"
        << entry.partition << " " << entry.withdraw << " " << entry.current_leader_epoch << " "
        << entry.fetch_offset << " " << entry.last_fetched_epoch << " "
        << static_cast<int>(entry.known_high_watermark) << " " << entry.high_watermark;
  }
}

void PrintFetchAnswer(const shard::FetchAnswer& answer, std::ostream& out) {
  if (answer.session.has_value()) {
    out << "session " << answer.session->session_id << " " << answer.session->answer_number << " "
        << answer.session->request_number << " " << static_cast<int>(answer.session->error);
  }
  for (const shard::FetchAnswerEntry& entry : answer.entries) {
    out << "\n"
        << entry.partition << " " << entry.has_epoch << " " << entry.header << " start "
        << entry.log_start;
    if (entry.high_watermark.has_value()) out << " watermark " << *entry.high_watermark;
    if (entry.diverging.has_value()) out << " diverging " << *entry.diverging;
    for (const RecordBatch& batch : entry.batches) {
      out << "\n  " << absl::BytesToHexString(batch.bytes());
    }
  }
}

}  // namespace

Receiver TestReceiver() {
  return Receiver{"c-1", ReplicaKey{NodeId(2), DirectoryId{2, 2}}, kLaneCount};
}

ReplicaKey RandomKey(Prng* prng) {
  return ReplicaKey{NodeId(static_cast<int32_t>(1 + prng->Below(INT32_MAX))),
                    DirectoryId{prng->Next() | 1, prng->Next()}};
}

shard::Envelope RandomEnvelope(Prng* prng) {
  shard::Envelope envelope;
  envelope.cluster_id = TestReceiver().cluster_id;
  envelope.from = {RandomKey(prng), Incarnation(prng->Next() >> 2 | 1)};
  envelope.to = {RandomKey(prng), std::nullopt};
  if (prng->Chance(500'000)) envelope.to.incarnation = Incarnation(prng->Next());
  envelope.lane = Lane(static_cast<uint32_t>(prng->Below(kLaneCount)));
  return envelope;
}

shard::LaneRequest RandomRequest(Prng* prng) {
  return shard::LaneRequest{RandomEnvelope(prng), RandomBody(prng)};
}

shard::HeaderAnswer RandomHeaderAnswer(Prng* prng, bool vote) {
  shard::HeaderAnswer answer;
  for (uint64_t i = prng->Below(6); i > 0; --i) {
    shard::HeaderEntry entry;
    entry.partition = RandomPartition(prng);
    entry.header = RandomHeader(prng);
    entry.has_epoch = prng->Chance(800'000);
    if (!entry.has_epoch) entry.header.epoch = Epoch(0);
    entry.granted = vote && prng->Chance(500'000);
    answer.entries.push_back(entry);
  }
  return answer;
}

RecordBatch MakeBatch(PartitionId partition, Offset offset, size_t value_size) {
  RecordsBuilder builder;
  RecordFields record;
  record.key = "key";
  record.value = std::string(value_size, 'v');
  builder.Add(record);
  builder.Add(record);
  return RecordBatch::Seal(partition, offset, Epoch(3), builder.Finish(1'000));
}

shard::FetchAnswer RandomFetchAnswer(Prng* prng) {
  shard::FetchAnswer answer;
  if (prng->Chance(700'000)) {
    answer.session = shard::SessionAnswerPlace{prng->Next(), prng->Next(), prng->Next(),
                                               static_cast<shard::SessionError>(prng->Below(5))};
  }
  for (uint64_t i = prng->Below(6); i > 0; --i) {
    shard::FetchAnswerEntry entry;
    entry.partition = RandomPartition(prng);
    entry.header = RandomHeader(prng);
    if (prng->Chance(700'000)) entry.header.error = RaftError::kNone;
    entry.has_epoch = prng->Chance(800'000);
    if (!entry.has_epoch) entry.header.epoch = Epoch(0);
    if (prng->Chance(500'000)) entry.high_watermark = Offset(RandomPosition(prng));
    if (entry.header.error == RaftError::kNone) entry.log_start = Offset(RandomPosition(prng));
    if (prng->Chance(300'000)) {
      entry.diverging = OffsetAndEpoch{Offset(RandomPosition(prng)), Epoch(RandomPosition(prng))};
    }
    for (uint64_t j = prng->Below(4); j > 0; --j) {
      // Some are copied into the message, some are referred to.
      entry.batches.push_back(MakeBatch(entry.partition, Offset(static_cast<int64_t>(10 * j)),
                                        prng->Below(prng->Chance(500'000) ? 100 : 10'000)));
    }
    answer.entries.push_back(entry);
  }
  return answer;
}

std::string Print(const shard::LaneRequest& request) {
  std::ostringstream out;
  out << request.envelope.cluster_id << " " << request.envelope.from << " to "
      << request.envelope.to << " lane " << request.envelope.lane << "\n";
  std::visit(Overloaded{
                 [&out](const shard::VoteBatch& batch) {
                   for (const shard::VoteEntry& entry : batch.entries) {
                     out << "vote " << entry.partition << " " << entry.epoch << " " << entry.log_end
                         << " " << entry.pre_vote << "\n";
                   }
                 },
                 [&out](const shard::BeginBatch& batch) {
                   for (const shard::BeginEntry& entry : batch.entries) {
                     out << "begin " << entry.partition << " " << entry.epoch << "\n";
                   }
                 },
                 [&out](const shard::EndBatch& batch) {
                   for (const shard::EndEntry& entry : batch.entries) {
                     out << "end " << entry.partition << " " << entry.epoch;
                     for (const ReplicaKey& key : entry.preferred_successors) out << " " << key;
                     out << "\n";
                   }
                 },
                 [&out](const shard::FetchBatch& batch) { PrintFetch(batch, out); },
             },
             request.body);
  return out.str();
}

std::string Print(const shard::LaneResponse& response) {
  std::ostringstream out;
  out << response.responder << "\n";
  std::visit(Overloaded{
                 [&out](const shard::HeaderAnswer& answer) {
                   for (const shard::HeaderEntry& entry : answer.entries) {
                     out << entry.partition << " " << entry.has_epoch << " " << entry.header << " "
                         << entry.granted << "\n";
                   }
                 },
                 [&out](const shard::FetchAnswer& answer) { PrintFetchAnswer(answer, out); },
                 [&out](const shard::RefusedRequest& refused) {
                   out << "refused " << static_cast<int>(refused.error);
                 },
             },
             response.body);
  return out.str();
}

}  // namespace quorum::transport

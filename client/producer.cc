#include "client/producer.h"

#include <map>
#include <utility>

#include "client/calls.h"
#include "client/deadline.h"
#include "client/producer_batch.h"
#include "client/producer_budget.h"
#include "client/producer_lane.h"
#include "client/quorum_client.h"
#include "client/waiter.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

// What an append takes beside its records.
constexpr size_t kAppendBytes = 512;
constexpr size_t kNameBytesMax = 255;

size_t MemoryOf(const AppendSpec& spec) {
  size_t bytes = kAppendBytes;
  for (const v1::Record& record : spec.records) bytes += record.SpaceUsedLong();
  return bytes;
}

Refused RefusedHere(google::rpc::Code code, const char* why) {
  Error error = NotSentError(why);
  error.code = code;
  return Refused{std::move(error)};
}

}  // namespace

// What a producer's calls share with it. Everything but `budget` and the constants belongs to the
// loop's thread.
class ProducerCore : public Closable {
 public:
  ProducerCore(std::shared_ptr<ClientCore> client_core, ProducerOptions producer_options)
      : client(std::move(client_core)),
        options(std::move(producer_options)),
        budget(std::make_shared<ProducerBudget>(options.buffer_bytes_max)) {}

  ProducerLane& LaneOf(const PartitionName& partition) {
    std::shared_ptr<ProducerLane>& lane = lanes_[partition];
    if (lane == nullptr) {
      lane = std::make_shared<ProducerLane>(*client, partition, options, budget);
      if (closed_) lane->Close();
    }
    return *lane;
  }

  void Close() override {
    closed_ = true;
    for (const auto& [partition, lane] : lanes_) lane->Close();
  }

  const std::shared_ptr<ClientCore> client;
  const ProducerOptions options;
  const std::shared_ptr<ProducerBudget> budget;

 private:
  std::map<PartitionName, std::shared_ptr<ProducerLane>> lanes_;
  bool closed_ = false;
};

Producer::Producer(const QuorumClient& client, ProducerOptions options)
    : core_(std::make_shared<ProducerCore>(client.core(), std::move(options))) {
  CHECK_LE(core_->options.name.size(), kNameBytesMax) << "a producer's name is too long";
  CHECK_GE(core_->options.outstanding_max, 1);
  CHECK_LE(core_->options.outstanding_max, 5);
  const bool posted =
      core_->client->loop.Post([core = core_] { core->client->closables.insert(core); });
  CHECK(posted) << "a producer of a client that was destroyed";
}

Producer::~Producer() {
  EventLoop& loop = core_->client->loop;
  CHECK(!loop.OnLoopThread()) << "a producer cannot be destroyed in a callback";
  loop.Post([core = core_] {
    core->Close();
    core->client->closables.erase(core);
  });
  while (!core_->budget->AwaitDecided(std::chrono::hours(1), core_->client->clock)) {
  }
}

Result<ProducerIdentity> Producer::Init(const PartitionName& partition) {
  CHECK(!core_->client->loop.OnLoopThread()) << "a callback may not block";
  Waiter<Result<ProducerIdentity>> waiter;
  const bool posted = core_->client->loop.Post([&waiter, core = core_, partition] {
    core->LaneOf(partition).Init(
        [&waiter](Result<ProducerIdentity> result) { waiter.Give(std::move(result)); });
  });
  if (!posted) return NotSentError("the client has ended");
  return waiter.Take();
}

void Producer::Append(AppendSpec spec, Done done) {
  if (spec.records.empty()) {
    return done(RefusedHere(google::rpc::INVALID_ARGUMENT, "an append needs a record"));
  }
  ClientCore& client = *core_->client;
  // gRPC would fail it, and could not tell that nothing was sent.
  if (WireBytes(spec) > kAppendBytesMax) {
    return done(RefusedHere(google::rpc::INVALID_ARGUMENT,
                            "an append is larger than a message may be, which is 16 MiB"));
  }
  const Duration timeout = spec.timeout.value_or(core_->options.timeout);
  auto append = std::make_shared<PendingAppend>();
  append->deadline = DeadlineAfter(client.loop.Now(), timeout);
  append->bytes = WireBytes(spec);
  append->record_count = spec.records.size();
  append->alone = spec.expected_offset.has_value() || spec.leader_epoch.has_value();
  const size_t memory = MemoryOf(spec);
  append->spec = std::move(spec);
  const bool taken =
      core_->budget->Take(memory, client.loop.OnLoopThread() ? Duration(0) : timeout, client.clock);
  if (!taken) {
    return done(RefusedHere(google::rpc::RESOURCE_EXHAUSTED, "the producer's memory is used up"));
  }
  append->share = std::make_unique<BudgetShare>(core_->budget, memory);
  append->done = std::move(done);
  append->ticket = core_->budget->Begin();
  const bool posted = client.loop.Post(
      [core = core_, append] { core->LaneOf(append->spec.partition).Add(append); });
  if (posted) return;
  append->done(RefusedHere(google::rpc::UNAVAILABLE, "the client has ended"));
  core_->budget->End(append->ticket);
}

AppendOutcome Producer::AppendAndWait(AppendSpec spec) {
  CHECK(!core_->client->loop.OnLoopThread()) << "a callback may not block";
  Waiter<AppendOutcome> waiter;
  Append(std::move(spec), [&waiter](AppendOutcome outcome) { waiter.Give(std::move(outcome)); });
  return waiter.Take();
}

bool Producer::Flush(Duration time_max) {
  CHECK(!core_->client->loop.OnLoopThread()) << "a callback may not block";
  return core_->budget->AwaitDecided(time_max, core_->client->clock);
}

}  // namespace quorum::client

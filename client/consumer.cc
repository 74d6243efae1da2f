#include "client/consumer.h"

#include "client/calls.h"
#include "client/consumer_queue.h"
#include "client/quorum_client.h"
#include "client/tail_flow.h"
#include "client/waiter.h"
#include "service/base/check.h"

namespace quorum::client {
namespace {

// Between two questions for the end of the replay, after one that found no answer.
constexpr Duration kAskAgain = std::chrono::seconds(1);

std::optional<Offset> LatestOffset(const Result<v1::ListOffsetsResponse>& result) {
  if (!result.ok() || result.value().topics_size() != 1) return std::nullopt;
  const auto& topic = result.value().topics(0);
  if (topic.has_error() || topic.partitions_size() != 1) return std::nullopt;
  const auto& entry = topic.partitions(0);
  if (entry.has_error() || entry.stale() || !entry.has_latest_offset()) return std::nullopt;
  if (entry.latest_offset() < 0 || Offset(entry.latest_offset()) >= kOffsetLimit) {
    return std::nullopt;
  }
  return Offset(entry.latest_offset());
}

// Asks the partition's leader for its high watermark, until it answers or the tail is over. On the
// loop's thread.
void AskReplayEnd(ClientCore& core, const CallSettings& settings,
                  const std::shared_ptr<TailFlow>& flow) {
  using Ask = UnaryCall<v1::ListOffsetsRequest, v1::ListOffsetsResponse>;
  if (core.closing || flow->over()) return;
  v1::ListOffsetsRequest request;
  auto* topic = request.add_topics();
  topic->set_topic(settings.partition->topic);
  topic->add_partitions(settings.partition->index);
  auto steps = ListOffsetsSteps([&core, settings,
                                 flow](const Result<v1::ListOffsetsResponse>& result) {
    if (result.ok()) Learn(result.value(), &core.cache);
    const std::optional<Offset> end = LatestOffset(result);
    if (end.has_value()) return flow->NoteReplayEnd(*end);
    if (core.closing || flow->over()) return;
    core.loop.RunAfter(kAskAgain, [&core, settings, flow] { AskReplayEnd(core, settings, flow); });
  });
  std::make_shared<Ask>(core, settings, std::move(request), std::move(steps))->Start();
}

}  // namespace

struct Consumer::Reading {
  std::shared_ptr<TailFlow> flow;
  ConsumerQueue::LanePointer lane;
};

Consumer::Consumer(const QuorumClient& client, ConsumerOptions options)
    : core_(client.core()),
      queue_(std::make_shared<ConsumerQueue>(options.buffer_bytes_max)),
      options_(std::move(options)) {}

Consumer::~Consumer() {
  CHECK(!core_->loop.OnLoopThread()) << "a consumer cannot be destroyed in a callback";
  {
    MutexLock lock(&mutex_);
    for (const auto& [partition, reading] : readings_) End(*reading);
  }
  // What was posted before has been run after this, and nothing calls `on_retry` any more.
  Waiter<bool> ended;
  if (core_->loop.Post([&ended] { ended.Give(true); })) ended.Take();
}

void Consumer::Add(const TailSpec& spec) {
  Remove(spec.partition);
  auto reading = std::make_unique<Reading>();
  reading->lane = queue_->Open(spec.partition);
  CallOptions options;
  options.timeout = options_.timeout;
  CallSettings ask{CallKind::kRead, spec.partition, options};
  options.on_retry = options_.on_retry;
  reading->flow =
      std::make_shared<TailFlow>(*core_, spec, std::move(options), queue_, reading->lane);
  const bool posted = core_->loop.Post(
      [&core = *core_, flow = reading->flow, ask = std::move(ask), tell = spec.tell_replayed] {
        flow->Start();
        if (tell) AskReplayEnd(core, ask, flow);
      });
  CHECK(posted) << "a consumer of a client that was destroyed";
  MutexLock lock(&mutex_);
  std::unique_ptr<Reading>& here = readings_[spec.partition];
  // Another thread has added it meanwhile.
  if (here != nullptr) End(*here);
  here = std::move(reading);
}

void Consumer::Remove(const PartitionName& partition) {
  MutexLock lock(&mutex_);
  const auto found = readings_.find(partition);
  if (found == readings_.end()) return;
  End(*found->second);
  readings_.erase(found);
}

std::optional<ConsumerEvent> Consumer::Next(Duration time_max) {
  return queue_->Pop(time_max, core_->clock);
}

void Consumer::End(const Reading& reading) {
  queue_->Close(reading.lane);
  // Not taken when the client has gone: its end has cancelled the flow already.
  core_->loop.Post([flow = reading.flow] { flow->Cancel(); });
}

}  // namespace quorum::client

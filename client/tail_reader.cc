#include "client/tail_reader.h"

#include <utility>

#include "client/client_core.h"
#include "client/tail_flow.h"
#include "client/tail_queue.h"

namespace quorum::client {

TailReader::TailReader(std::shared_ptr<ClientCore> core, std::shared_ptr<TailFlow> flow,
                       std::shared_ptr<TailQueue> queue)
    : core_(std::move(core)), flow_(std::move(flow)), queue_(std::move(queue)) {}

TailReader::~TailReader() {
  // Dropped when the client has gone: its end has cancelled the flow already.
  core_->loop.Post([flow = flow_] { flow->Cancel(); });
}

std::optional<TailEvent> TailReader::Next(Duration time_max) {
  return queue_->Pop(time_max, core_->clock);
}

}  // namespace quorum::client

// The planted bug M44 breaks what producer_states_test.cc demands of a truncation.

#include <gtest/gtest.h>

#include "service/base/plant.h"
#include "service/shard/producer_states.h"

namespace quorum::shard {
namespace {

using Kind = ProducerVerdict::Kind;

BatchHeader FirstBatch() {
  BatchHeader batch;
  batch.next_offset = Offset(1);
  batch.producer = ProducerStamp{1, 0, 0};
  return batch;
}

Kind VerdictAfterTruncation() {
  ProducerStates states({});
  states.Note(FirstBatch());
  states.TruncateTo(Offset(0));
  return states.Judge(*FirstBatch().producer, 1).kind;
}

TEST(ProducerStatesPlantTest, M44_ARetryAfterATruncationPassesForADuplicate) {
  EXPECT_EQ(VerdictAfterTruncation(), Kind::kNew);
  plants::SetPlant(Plant::kM44);
  EXPECT_EQ(VerdictAfterTruncation(), Kind::kDuplicate);
  plants::SetPlant(Plant::kNone);
}

}  // namespace
}  // namespace quorum::shard

// The values of the column family `producers`, wrapped as every value is (value_codec.h): by hand,
// because the simulator links this code and no protobuf; a test compares them with the generated
// classes. Decode functions return DATA_LOSS for damage and UNIMPLEMENTED for an unknown version.
//
// Thread: pure functions.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "service/base/producer.h"
#include "storage/layout/value_codec.h"

namespace quorum::storage {

// Everything of the producer but its id, which is in the key.
std::string EncodeProducer(ValuePlace place, const ProducerState& producer);
absl::StatusOr<ProducerState> DecodeProducer(ValuePlace place, absl::string_view value);

std::string EncodeProducerSummary(ValuePlace place, const ProducerSummary& summary);
absl::StatusOr<ProducerSummary> DecodeProducerSummary(ValuePlace place, absl::string_view value);

}  // namespace quorum::storage

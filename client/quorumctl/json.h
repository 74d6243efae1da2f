// JSON for scripts: protobuf's own form, with all fields that are present or have no presence, in
// one line. 64-bit integers are strings, bytes are base64, names are lowerCamel.
//
// Thread: any.

#pragma once

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>

namespace quorum::client::quorumctl {

using Json = nlohmann::ordered_json;

Json ToJson(const google::protobuf::Message& message);

// `first` with the members of `second` behind its own.
Json Merged(Json first, const Json& second);

// In one line, with a line feed.
std::string Line(const Json& json);

}  // namespace quorum::client::quorumctl

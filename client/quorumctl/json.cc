#include "client/quorumctl/json.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "service/base/check.h"

namespace quorum::client::quorumctl {

Json ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  // A detail of a type that is not linked in cannot be shown; the rest is for the error line.
  if (!status.ok()) return Json::object();
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  CHECK(!json.is_discarded()) << "protobuf wrote malformed JSON";
  return json;
}

Json Merged(Json first, const Json& second) {
  for (const auto& [name, value] : second.items()) first[name] = value;
  return first;
}

std::string Line(const Json& json) {
  // Replaces what is no UTF-8 instead of failing.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quorum::client::quorumctl

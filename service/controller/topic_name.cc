#include "service/controller/topic_name.h"

#include <algorithm>
#include <string>

namespace quorum::controller {
namespace {

constexpr size_t kNameSizeMax = 249;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

std::string FindTopicNameFault(const std::string& name) {
  if (name.empty()) return "a topic needs a name";
  if (name.size() > kNameSizeMax) return "a topic name has at most 249 characters";
  if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return "a topic name consists of letters, digits, '.', '_' and '-'";
  }
  if (name == "." || name == "..") return "a topic must not be named '.' or '..'";
  if (IsInternalTopicName(name)) return "names that begin with '__' belong to the system";
  return "";
}

bool IsInternalTopicName(const std::string& name) { return name.rfind("__", 0) == 0; }

}  // namespace quorum::controller

#include "storage/layout/field_line.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace quorum::storage {
namespace {

bool NeedsQuotes(absl::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == '\x7f') return true;
  }
  return false;
}

std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (byte < ' ' || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

}  // namespace

void FieldLine::AddNumber(absl::string_view name, int64_t number) {
  AddName(name);
  absl::StrAppend(&line_, number);
}

void FieldLine::AddText(absl::string_view name, absl::string_view text) {
  AddName(name);
  if (json_ || NeedsQuotes(text)) {
    line_ += Quoted(text);
  } else {
    absl::StrAppend(&line_, text);
  }
}

std::string FieldLine::Finish() const { return json_ ? absl::StrCat("{", line_, "}") : line_; }

void FieldLine::AddName(absl::string_view name) {
  if (json_) {
    absl::StrAppend(&line_, line_.empty() ? "" : ",", Quoted(name), ":");
  } else {
    absl::StrAppend(&line_, line_.empty() ? "" : " ", name, "=");
  }
}

}  // namespace quorum::storage

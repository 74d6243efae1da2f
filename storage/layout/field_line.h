// FieldLine: one line of named fields, as text or as a JSON object.
//
// Thread: a plain value.

#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "storage/layout/dump.h"

namespace quorum::storage {

class FieldLine {
 public:
  explicit FieldLine(DumpFormat format) : json_(format == DumpFormat::kJson) {}

  void AddNumber(absl::string_view name, int64_t number);
  // As text, a value with blanks, quotes or control characters is quoted as in JSON.
  void AddText(absl::string_view name, absl::string_view text);

  // The line, without a newline.
  std::string Finish() const;

 private:
  void AddName(absl::string_view name);

  const bool json_;
  std::string line_;
};

}  // namespace quorum::storage

// Failure: the first thing that was found wrong. What comes after it may be its consequence, so
// only the first is kept, and the run ends.
//
// Thread: the simulator's only one.

#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace quorum::sim {

class Failure {
 public:
  // `invariant` names the rule (I1 to I18, or a word), `parts` say what was seen.
  template <typename... Parts>
  void Report(const char* invariant, const Parts&... parts) {
    if (!only_.empty() && only_ != invariant) return;
    if (text_.empty()) text_ = absl::StrCat(invariant, ": ", parts...);
  }

  // Beyond what the product can survive, it has to keep one promise only.
  void CountOnly(const char* invariant) { only_ = invariant; }

  bool failed() const { return !text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string only_;
};

}  // namespace quorum::sim

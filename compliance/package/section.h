// The outcome of one part of a check, ready to be printed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/outcome.h"
#include "compliance/checks/rcp.h"
#include "compliance/checks/remark.h"

namespace strata::compliance {

struct Section {
  std::string title;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  bool judged = true;           // where false, a note says why
  std::filesystem::path path;   // the file or folder it is about, where that is not its package's
  std::vector<Remark> remarks;  // what its errors, or else its warnings, say, each with its place

  std::optional<RcpVerdict> rcp;  // of a section about convergence

  Outcome outcome() const {
    return !errors.empty() ? Outcome::kFailed : judged ? Outcome::kPassed : Outcome::kNotJudged;
  }
  bool passed() const { return outcome() == Outcome::kPassed; }
};

// The outcome of all.
Outcome outcome_of(const std::vector<Section>& sections);

}  // namespace strata::compliance

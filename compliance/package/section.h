// The outcome of one part of a check, ready to be printed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/outcome.h"
#include "compliance/checks/rcp.h"
#include "compliance/checks/review_finding.h"

namespace strata::compliance {

struct Section {
  std::string title;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  bool judged = true;                   // false: a note says why
  std::filesystem::path path;           // the file or folder it is about; empty: the package's
  std::vector<ReviewFinding> findings;  // its errors, or else its warnings, each with its place

  std::optional<RcpVerdict> rcp;  // only in a section about convergence

  Outcome outcome() const {
    return !errors.empty() ? Outcome::kFailed : judged ? Outcome::kPassed : Outcome::kNotJudged;
  }
  bool passed() const { return outcome() == Outcome::kPassed; }
};

// Returns the combined outcome.
Outcome outcome_of(const std::vector<Section>& sections);

}  // namespace strata::compliance

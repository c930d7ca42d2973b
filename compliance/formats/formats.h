// Verdicts in three formats.
#pragma once

#include <string>
#include <vector>

#include "compliance/formats/cases.h"

namespace strata::compliance {

// SARIF 2.1.0 (OASIS): a run, a rule for each id that fired, a result for each annotation. Paths
// below the working directory are relative to %SRCROOT%.
std::string sarif(const std::vector<Case>& cases);

// JUnit XML: a suite for each result folder, a case for each log and section. What was not judged
// is skipped.
std::string junit(const std::vector<Case>& cases);

// GitHub's workflow commands, an ::error or ::warning for each annotation, and last a line of
// numbers alone. No line begins with what a log holds.
std::string github(const std::vector<Case>& cases);

}  // namespace strata::compliance

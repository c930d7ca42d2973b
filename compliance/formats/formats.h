// Verdicts in three formats.
#pragma once

#include <string>
#include <vector>

#include "compliance/formats/cases.h"

namespace strata::compliance {

// Returns SARIF 2.1.0 (OASIS): one run, a rule for each id that fired, a result for each
// annotation. Paths below the working directory are relative to %SRCROOT%.
std::string sarif(const std::vector<Case>& cases);

// Returns JUnit XML: a suite for each result folder, a case for each log and section. Cases that
// were not judged are skipped.
std::string junit(const std::vector<Case>& cases);

// Returns GitHub's workflow commands: an ::error or ::warning for each annotation, and a last line
// with the numbers. No line begins with text from a log.
std::string github(const std::vector<Case>& cases);

}  // namespace strata::compliance

// Verdicts as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/package/package.h"
#include "compliance/package/section.h"

namespace strata::compliance {

// "PASS path" or "FAIL path", the ruleset where it was inferred, and each finding with its place.
std::string log_text(const LogVerdict& verdict);
// An array with an object a log.
std::string log_json(const std::vector<LogVerdict>& verdicts);

// "PASS title" or "FAIL title" and the messages.
std::string section_text(const Section& section, const std::string& indent = "");
std::string section_json(const std::vector<Section>& sections);

// All sections of a submission, then its verdict.
std::string package_text(const PackageVerdict& package);
// A row a submitter, then what failed.
std::string round_text(const std::vector<PackageVerdict>& packages);
std::string package_json(const std::vector<PackageVerdict>& packages);

}  // namespace strata::compliance

// Verdicts as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/package/package.h"
#include "compliance/package/section.h"

namespace strata::compliance {

// Returns the verdicts' key "rules": {"source", "version", "path", "sha256"}.
nlohmann::json rules_json(const RuleIdentity& rules);

// Returns "passed path", "failed path" or "not judged path", the ruleset if it was inferred, and
// each finding with its place. A log without events has a finding.
std::string log_text(const LogVerdict& verdict);
// Returns the texts of several logs, and the number of logs by outcome. Names ruleset and rules if
// they change. `quiet` lists only the failed logs.
std::string logs_text(const std::vector<LogVerdict>& verdicts, bool quiet);
// Returns an array with an object per log.
std::string log_json(const std::vector<LogVerdict>& verdicts);

// Returns a section's outcome, title and messages.
std::string section_text(const Section& section, const std::string& indent = "");
std::string section_json(const std::vector<Section>& sections);

// Returns the message of a convergence check with its numbers: mean, reference, least mean and
// factor.
std::string rcp_text(const RcpVerdict& verdict);
// Returns the batch size, the reference points and the count of every run, one line each.
std::vector<std::string> rcp_details(const RcpVerdict& verdict);

// Returns all sections of a submission, then its verdict. `quiet` leaves out what passed.
std::string package_text(const PackageVerdict& package, bool quiet = false);
// Returns a row per submitter, then what failed, and why the rest was not judged.
std::string round_text(const std::vector<PackageVerdict>& packages);
std::string package_json(const std::vector<PackageVerdict>& packages);

}  // namespace strata::compliance

// Verdicts as text for people and as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/package/package.h"
#include "compliance/package/section.h"

namespace strata::compliance {

// The key "rules" of verdicts: {"source", "version", "path", "sha256"}.
nlohmann::json rules_json(const RuleIdentity& rules);

// "passed path", "failed path" or "not judged path", the ruleset where it was inferred, and each
// finding with its place. A log without events has one.
std::string log_text(const LogVerdict& verdict);
// The same of several, and how many have which outcome. The ruleset and the rules stand where they
// change. `quiet`: of the logs that failed alone.
std::string logs_text(const std::vector<LogVerdict>& verdicts, bool quiet);
// An array with an object a log.
std::string log_json(const std::vector<LogVerdict>& verdicts);

// The same of a section: outcome, title and messages.
std::string section_text(const Section& section, const std::string& indent = "");
std::string section_json(const std::vector<Section>& sections);

// The words of a convergence check with its numbers: mean, reference, least mean and factor.
std::string rcp_text(const RcpVerdict& verdict);
// The batch size, the reference points and the count of every run, one line each.
std::vector<std::string> rcp_details(const RcpVerdict& verdict);

// All sections of a submission, then its verdict. `quiet`: without what passed.
std::string package_text(const PackageVerdict& package, bool quiet = false);
// A row a submitter, then what failed, and why the rest was not judged.
std::string round_text(const std::vector<PackageVerdict>& packages);
std::string package_json(const std::vector<PackageVerdict>& packages);

}  // namespace strata::compliance

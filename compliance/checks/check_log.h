// The verdict on one log: the rules that it breaks, where, and what they require.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compliance/checks/outcome.h"
#include "compliance/checks/review_finding.h"
#include "compliance/checks/rules/finding.h"
#include "compliance/sources/rule_store.h"
#include "mllog/log_reader.h"

namespace strata::compliance {

struct LogVerdict {
  std::filesystem::path path;
  std::string usage;       // "training" or "hpc"
  std::string ruleset;     // "2.1.0"
  std::string ground;      // why this ruleset: "given", or the source of the inference
  std::string benchmark;   // as logged; empty if not logged
  RuleIdentity rules;      // rules that judged the log
  std::string not_judged;  // why there are no rules to judge it by; empty if there are
  bool readable = true;    // false: the error says why the file cannot be judged
  uint64_t event_count = 0;
  std::vector<Finding> errors;
  std::vector<Finding> warnings;
  std::vector<std::string> notes;
  std::vector<ReviewFinding> review;  // findings for a reviewer that no rule covers

  Outcome outcome() const {
    return !errors.empty()      ? Outcome::kFailed
           : not_judged.empty() ? Outcome::kPassed
                                : Outcome::kNotJudged;
  }
  bool passed() const { return outcome() == Outcome::kPassed; }
};

struct CheckOptions {
  std::string usage;    // "training" or "hpc"; empty: inferred from the benchmark
  std::string ruleset;  // empty: inferred (see infer_ruleset)
  bool werror = false;  // warnings count as errors
  // Called with the log after the verdict.
  std::function<void(const mllog::LogReader&, LogVerdict&)> then;
};

// Throws Error unless MLPerf had this round or there are rules for it.
void require_round(const RuleStore& rules, const std::string& usage, const std::string& ruleset);

// Checks a log that is already read. It is not judged if there are no rules for its round. It has
// an error if it cannot be judged (no rules for it, rules that exceed limits). Throws Error for
// rule files that cannot be compiled.
LogVerdict check_log(const mllog::LogReader& log, RuleStore& rules, const std::string& usage,
                     const std::string& ruleset, bool werror = false);

// Reads and checks one log. Throws Error if the file cannot be read or there is no such round.
LogVerdict check_log(const std::filesystem::path& path, RuleStore& rules,
                     const CheckOptions& options = {});

// Checks a log against Strata's own rules.
LogVerdict check_log(const std::filesystem::path& path, const CheckOptions& options = {});

// Like check_log of a path, but any problem with this file becomes its verdict, so that it does not
// end the check of other files.
LogVerdict check_one_of_many(const std::filesystem::path& path, RuleStore& rules,
                             const CheckOptions& options);
// Returns the verdict on a log that cannot be judged, because of `reason`.
LogVerdict unreadable_log(const std::filesystem::path& path, const std::string& reason);

}  // namespace strata::compliance

// The verdict on one log: which rules it breaks, where, and what they wanted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compliance/checks/outcome.h"
#include "compliance/checks/remark.h"
#include "compliance/log/event_log.h"
#include "compliance/sources/rule_store.h"

namespace strata::compliance {

// One broken rule (an error) or doubtful point (a warning).
struct Finding {
  std::string key;      // the event's key; empty for findings about the whole log
  std::string summary;  // one line; for errors of the rules the official checker's own words
  std::string rule;     // the code or requirement that failed: what was wanted
  std::string found;    // the value found, cut to a readable length
  std::string rule_file;
  int rule_line = 0;      // 1-based; 0 where no rule file is concerned
  uint64_t log_line = 0;  // 1-based; 0 where no single line is concerned
  // What was broken, the same in every log: rule file without its ending, key and field
  // ("shared/bert_target/eval_accuracy/ATLEAST_ONE_CHECK", "shared/timeline/run_stop/REQ"; of
  // several checks of a key CHECK-2 is the second), else one of "log/...": no-events, bad-lines,
  // rule-file-missing, checking-stopped, unreadable.
  std::string id;
};

// The summary of the finding about a log without events: the official checker's words.
inline constexpr char kNoEvents[] = "No log lines detected";

struct LogVerdict {
  std::filesystem::path path;
  std::string usage;       // "training" or "hpc"
  std::string ruleset;     // "2.1.0"
  std::string ground;      // why this ruleset: "given", or what it was inferred from
  std::string benchmark;   // as logged; empty where not
  RuleIdentity rules;      // whose rules judged
  std::string not_judged;  // why there are no rules to judge it by; empty where there are
  bool readable = true;    // false where the error says why the file cannot be judged
  uint64_t event_count = 0;
  std::vector<Finding> errors;
  std::vector<Finding> warnings;
  std::vector<std::string> notes;
  std::vector<Remark> review;  // what no rule asks about, and a reviewer should know

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
  // Called with the log once it is judged.
  std::function<void(const EventLog&, LogVerdict&)> then;
};

// Throws Error unless MLPerf had this round or there are rules for it.
void require_round(const RuleStore& rules, const std::string& usage, const std::string& ruleset);

// Checks a log that is already read. Without rules for its round it is not judged. A log that
// cannot be judged (no rules for it, rules that ask for too much) has an error that says so. Throws
// Error for rule files that cannot be compiled.
LogVerdict check_log(const EventLog& log, RuleStore& rules, const std::string& usage,
                     const std::string& ruleset, bool werror = false);

// Reads and checks one log. Throws Error where the file cannot be read or there is no such
// round.
LogVerdict check_log(const std::filesystem::path& path, RuleStore& rules,
                     const CheckOptions& options = {});

// As above, against Strata's own rules.
LogVerdict check_log(const std::filesystem::path& path, const CheckOptions& options = {});

// As check_log of a path, but whatever is wrong with this file is its verdict: one of many files
// does not end the check of the others.
LogVerdict check_one_of_many(const std::filesystem::path& path, RuleStore& rules,
                             const CheckOptions& options);
// The verdict on a log that cannot be judged at all, because of `reason`.
LogVerdict unreadable_log(const std::filesystem::path& path, const std::string& reason);

// The found value, or nothing if the summary holds it already ("but found 0").
std::string found_beyond_summary(const Finding& finding);

// A finding as text of a few lines: log line, summary, what was found and wanted, and the rule's
// place.
std::string describe(const Finding& finding);

}  // namespace strata::compliance

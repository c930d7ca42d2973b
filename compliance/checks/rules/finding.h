// Findings: how a log breaks its rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace strata::compliance {

// One broken rule (an error) or doubtful point (a warning).
struct Finding {
  std::string key;      // the event's key; empty for findings about the whole log
  std::string summary;  // one line; for errors of the rules the official checker's own words
  std::string rule;     // the code or requirement that failed: what was wanted
  std::string found;    // the value found, cut to a readable length
  std::string rule_file;
  int rule_line = 0;      // 1-based; 0 if no rule file is concerned
  uint64_t log_line = 0;  // 1-based; 0 if no single line is concerned
  // Names the broken rule, alike in every log: rule file without its ending, key and field
  // ("shared/bert_target/eval_accuracy/ATLEAST_ONE_CHECK", "shared/timeline/run_stop/REQ"; CHECK-2
  // is a key's second check). Without a rule it is one of "log/...": no-events, bad-lines,
  // rule-file-missing, checking-stopped, unreadable.
  std::string id;
};

// The summary of the finding about a log without events: the official checker's words.
inline constexpr char kNoEvents[] = "No log lines detected";

// The found value, or nothing if the summary holds it already ("but found 0").
std::string found_beyond_summary(const Finding& finding);

// A finding as text of a few lines: log line, summary, what was found and wanted, and the rule's
// place.
std::string describe(const Finding& finding);

// Findings show at most so many bytes of what a log holds.
inline constexpr size_t kShownBytes = 300;
// Returns the text, or its first kShownBytes and "...".
std::string cut(std::string_view text);

// Returns the Finding::id for a field of a key's rule in `file`.
std::string rule_id(std::string file, std::string_view key, std::string_view field);
// Returns the field of a key's check, which are counted from 0: CHECK, CHECK-2, ...
std::string check_name(size_t index);

}  // namespace strata::compliance

// The check of a log by the rule files of its round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/rules/keyed_findings.h"
#include "compliance/language/rule_evaluator.h"

namespace strata::compliance {

// The finding about a log without events.
Finding no_events(const mllog::LogReader& log);

// The occurrences of one key in a log, as far as requirements ask for them.
struct Occurrences {
  uint64_t count = 0;
  std::string first_json;
  Value first;
  bool all_same = true;
  std::set<std::string> distinct;  // the first few, as text
  bool executed = false;           // ends the code of submission_ keys, which runs once
  bool first_checked = false;
  bool any_met = false;  // by an ATLEAST_ONE_CHECK
  bool any_tried = false;
  std::string any_error;
  std::string last_json;  // the last value that an ATLEAST_ONE_CHECK saw
  uint64_t last_offset = 0;
  uint64_t error_offset = 0;
};

class RuleCheck {
 public:
  RuleCheck(const mllog::LogReader& log, RuleStore& rules, LogVerdict& verdict, bool werror);

  // Fills in the verdict's errors and warnings.
  void run();

 private:
  // Rule files, and code that runs for the whole log: rule_check.cc.
  void apply(const RuleFile& file);
  void begin(const RuleCode& code, Evaluator& evaluator);
  void end(const RuleFile& file, Evaluator& evaluator);
  void report_bad_lines();
  void put(Finding finding);
  void warn(Finding finding);
  uint64_t line_number(uint64_t offset) const;

  // Events, and code that runs for each: rule_events.cc.
  Value value_of(const mllog::Event& event);
  void complete(const Value& v, const mllog::Event& event);
  Value line_of(const mllog::Event& event, const Value& v);
  void visit_event(const KeyRule& rule, Occurrences& seen, const mllog::Event& event,
                   Evaluator& evaluator);
  void visit_added(const RuleFile& file, const Value& line, std::vector<Occurrences>& occurrences,
                   std::vector<size_t>& any_order, Evaluator& evaluator);
  void count_json(Occurrences& seen, std::string_view json);
  void count_value(Occurrences& seen, const Value& value);
  bool safe_equal(const Value& a, const Value& b);
  // The event, of the log or added to it, that code runs for.
  struct Visit {
    uint64_t offset;
    std::string_view line;
    const Value& v;
    const mllog::Event* event;  // if `v` was made of a part of it only, else null
  };
  void run_code(const KeyRule& rule, Occurrences& seen, const Visit& visit, Evaluator& evaluator);
  std::string shown(const Visit& visit);
  void check(const KeyRule& rule, const RuleCode& code, std::optional<size_t> index,
             const Visit& visit, Evaluator& evaluator);
  void execute(const KeyRule& rule, const RuleCode& code, std::string_view action,
               const Visit& visit, Evaluator& evaluator);
  static void fill(Finding& finding, const std::string& key, const RuleCode& code,
                   std::string_view field);
  void try_any(const RuleCode& code, Occurrences& seen, const Visit& visit, Evaluator& evaluator);

  // Requirements on the occurrences of keys: requirements.cc.
  static void note_any(const KeyRule& rule, Occurrences& seen, size_t index,
                       std::vector<size_t>& order);
  void report_any(const RuleFile& file, const std::vector<Occurrences>& occurrences,
                  const std::vector<size_t>& order);
  void report_requirements(const RuleFile& file, const std::vector<Occurrences>& occurrences);
  void point_at_similar_keys(std::vector<Finding>& findings);

  const mllog::LogReader& log_;
  RuleStore& rules_;
  LogVerdict& verdict_;
  bool werror_;
  // The files outlive the heap, whose values may refer to their constants.
  std::vector<std::shared_ptr<const RuleFile>> files_;
  Heap heap_;
  const Value name_value_ = heap_.str("value");
  const Value name_metadata_ = heap_.str("metadata");
  std::deque<std::string> queue_;
  std::vector<Value> added_;
  KeyedFindings keyed_;
  KeyedFindings warnings_;
  std::vector<Finding> loose_;
};

}  // namespace strata::compliance

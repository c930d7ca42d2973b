#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/text/counts.h"
#include "compliance/checks/rules/rule_check.h"

namespace strata::compliance {
namespace {

// Says how long the time that ends with this event was and may be.
std::string describe_time(const std::string& key, double took_ms, double limit_ms) {
  constexpr double kMsPerMinute = 60'000;
  const double took = took_ms / kMsPerMinute, limit = limit_ms / kMsPerMinute;
  const bool close = std::fabs(took - limit) < 0.05;  // and would be written alike
  return fmt::format("{} took {:.{}f} minutes; the limit is {}",
                     key == "init_stop" ? "initialisation" : "the time to '" + key + "'", took,
                     close ? 5 : 1, counted(limit, "minute"));
}

}  // namespace

Value RuleCheck::value_of(const mllog::Event& event) {
  if (event.metadata.empty()) return value_from_json(event.value, heap_);  // round 0.6
  Value v = heap_.dict();
  complete(v, event);
  return v;
}

// Adds the entries that the dictionary `v` was made without. Code that looks at no more than
// v['value'] has changed nothing else.
void RuleCheck::complete(const Value& v, const mllog::Event& event) {
  if (v.dict().entries.empty()) v.dict().insert(name_value_) = value_from_json(event.value, heap_);
  if (v.dict().entries.size() == 1)
    v.dict().insert(name_metadata_) = value_from_json(event.metadata, heap_);
}

Value RuleCheck::line_of(const mllog::Event& event, const Value& v) {
  Value value = heap_.line();
  Line& line = value.line();
  line.key = std::string(event.key);
  line.full_string = std::string(event.line);
  line.timestamp = event.time_ms;
  line.lineno = static_cast<int64_t>(event.offset);
  line.value = v;
  return value;
}

void RuleCheck::visit_event(const KeyRule& rule, Occurrences& seen, const mllog::Event& event,
                            Evaluator& evaluator) {
  Value v;
  if (event.metadata.empty()) {
    // In the format of round 0.6 an event without a "value" is passed over.
    v = value_of(event);
    const Value* inner = v.kind() == Kind::kDict ? v.dict().find("value") : nullptr;
    if (inner == nullptr) return;
    count_value(seen, *inner);
  } else {
    if (rule.requirement.kind == Requirement::kExactlyOne) {
      count_json(seen, event.value);
    } else {
      ++seen.count;
    }
    if (!rule.has_code()) return;
    if (rule.uses.whole) {
      v = value_of(event);
    } else if (rule.uses.value || rule.at_least_one_check) {
      v = heap_.dict();
      v.dict().insert(name_value_) = value_from_json(event.value, heap_);
    }
  }
  evaluator.set_line(v, rule.uses.line ? line_of(event, v) : Value());
  const bool is_whole = event.metadata.empty() || rule.uses.whole;
  run_code(rule, seen, {event.offset, event.line, v, is_whole ? nullptr : &event}, evaluator);
}

void RuleCheck::visit_added(const RuleFile& file, const Value& line,
                            std::vector<Occurrences>& occurrences, std::vector<size_t>& any_order,
                            Evaluator& evaluator) {
  const auto found = file.by_key.find(line.line().key);
  if (!found) return;
  const KeyRule& rule = file.keys[*found];
  Occurrences& seen = occurrences[*found];
  const Value v = line.line().value;
  const Value* inner = v.kind() == Kind::kDict ? v.dict().find("value") : nullptr;
  if (inner == nullptr) return;
  count_value(seen, *inner);
  evaluator.set_line(v, line);
  run_code(rule, seen, {kNoOffset, line.line().full_string, v, nullptr}, evaluator);
  note_any(rule, seen, *found, any_order);
}

void RuleCheck::count_json(Occurrences& seen, std::string_view json) {
  if (seen.count > 0 && json == seen.first_json) {
    ++seen.count;
    return;
  }
  if (seen.count == 0) seen.first_json = std::string(json);
  count_value(seen, value_from_json(json, heap_));
}

void RuleCheck::count_value(Occurrences& seen, const Value& value) {
  constexpr size_t kMaxDistinct = 8;
  if (seen.count++ == 0) {
    seen.first = value;
  } else if (!safe_equal(value, seen.first)) {
    seen.all_same = false;
  }
  if (seen.distinct.size() < kMaxDistinct) seen.distinct.insert(to_str(value, kShownBytes));
}

bool RuleCheck::safe_equal(const Value& a, const Value& b) {
  try {
    return equal(a, b, heap_);
  } catch (const RuleError&) {
    return false;
  }
}

void RuleCheck::run_code(const KeyRule& rule, Occurrences& seen, const Visit& visit,
                         Evaluator& evaluator) {
  if (!rule.runs_once || !seen.executed) {
    if (rule.pre) execute(rule, *rule.pre, "PRE", visit, evaluator);
    for (size_t i = 0; i < rule.checks.size(); ++i)
      check(rule, rule.checks[i], i, visit, evaluator);
    if (rule.post) execute(rule, *rule.post, "POST", visit, evaluator);
  }
  if (rule.first_check && !seen.first_checked) {
    seen.first_checked = true;
    check(rule, *rule.first_check, std::nullopt, visit, evaluator);
  }
  if (rule.at_least_one_check) try_any(*rule.at_least_one_check, seen, visit, evaluator);
  seen.executed = true;
}

std::string RuleCheck::shown(const Visit& visit) {
  if (visit.event == nullptr) return to_repr(visit.v, kShownBytes);
  const Value whole = visit.v.kind() == Kind::kNone ? heap_.dict() : visit.v;
  complete(whole, *visit.event);
  return to_repr(whole, kShownBytes);
}

// `index` numbers a CHECK. Without it the code is a FIRST_CHECK.
void RuleCheck::check(const KeyRule& rule, const RuleCode& code, std::optional<size_t> index,
                      const Visit& visit, Evaluator& evaluator) {
  Finding finding;
  try {
    if (evaluator.check(code.fragment)) return;
    const auto time = evaluator.time_and_limit(code.fragment);
    finding.found = time ? describe_time(rule.name, time->first, time->second) : shown(visit);
  } catch (const RuleError& error) {
    finding.summary = "Failed executing CHECK code:";
    finding.found = fmt::format("{} ({})", shown(visit), error.what());
  }
  fill(finding, rule.name, code, index ? check_name(*index) : "FIRST_CHECK");
  keyed_.put(std::move(finding), visit.offset);
}

void RuleCheck::execute(const KeyRule& rule, const RuleCode& code, std::string_view action,
                        const Visit& visit, Evaluator& evaluator) {
  try {
    evaluator.execute(code.fragment);
  } catch (const RuleError& error) {
    Finding finding;
    finding.summary = fmt::format("Failed executing code {} code triggered by line :", action);
    finding.found = fmt::format("{} ({})", cut(visit.line), error.what());
    fill(finding, rule.name, code, action);
    keyed_.put(std::move(finding), visit.offset);
  }
}

void RuleCheck::fill(Finding& finding, const std::string& key, const RuleCode& code,
                     std::string_view field) {
  finding.id = rule_id(code.file, key, field);
  finding.key = key;
  finding.rule = code.fragment.source;
  finding.rule_file = code.file;
  finding.rule_line = code.line;
}

// Values are checked even after one has passed, because a value that cannot be checked ends the
// official checker.
void RuleCheck::try_any(const RuleCode& code, Occurrences& seen, const Visit& visit,
                        Evaluator& evaluator) {
  try {
    seen.any_met |= evaluator.check(code.fragment);
  } catch (const RuleError& error) {
    if (seen.any_error.empty()) {
      seen.any_error = fmt::format("{} ({})", shown(visit), error.what());
      seen.error_offset = visit.offset;
    }
  }
  if (seen.any_met) return;
  const Value& v = visit.v;
  seen.last_offset = visit.offset;
  const Value* inner = v.kind() == Kind::kDict ? v.dict().find("value") : nullptr;
  seen.last_json = inner == nullptr ? std::string() : to_repr(*inner, kShownBytes);
}

}  // namespace strata::compliance

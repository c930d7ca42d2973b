#include "compliance/checks/rules/rule_check.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "base/text/printable.h"

namespace strata::compliance {
namespace {

constexpr size_t kMaxRuleFiles = 64;
// All rule files together may take so many steps. Those of the published rounds take at most 260 an
// event.
constexpr uint64_t kBaseSteps = 20'000'000;
constexpr uint64_t kStepsPerEvent = 2000;
constexpr size_t kMaxHeapBytes = 256 << 20;
// Rules may add as many events as the log has, and these.
constexpr size_t kAddedEvents = 1000;

}  // namespace

Finding no_events(const mllog::LogReader& log) {
  const std::string why = log.bad_line_count() == 0 ? cut(log.why_no_token()) : "";
  return {"", kNoEvents, "", why, "", 0, 0, "log/no-events"};
}

RuleCheck::RuleCheck(const mllog::LogReader& log, RuleStore& rules, LogVerdict& verdict,
                     bool werror)
    : log_(log),
      rules_(rules),
      verdict_(verdict),
      werror_(werror),
      heap_(kMaxHeapBytes, kBaseSteps + kStepsPerEvent * log.event_count()) {}

void RuleCheck::run() {
  try {
    if (log_.bad_line_count() > 0) report_bad_lines();
    if (log_.event_count() == 0) put(no_events(log_));
    queue_.push_back(fmt::format("{}_{}/common.yaml", verdict_.usage, verdict_.ruleset));
    while (!queue_.empty()) {
      if (files_.size() == kMaxRuleFiles) {
        throw RuleBudgetError("the rules ask for too many rule files");
      }
      const std::string name = queue_.front();
      queue_.pop_front();
      const auto file = rules_.load(name);
      if (file == nullptr) {
        put({"", fmt::format("Could not find config file: {}", one_line(name, kShownBytes)), "", "",
             "", 0, 0, "log/rule-file-missing"});
        continue;
      }
      files_.push_back(file);
      apply(*file);
    }
  } catch (const RuleBudgetError& error) {
    put({"", fmt::format("Checking stopped: {}", error.what()), "", "", "", 0, 0,
         "log/checking-stopped"});
  }
  verdict_.errors = keyed_.all(log_);
  verdict_.errors.insert(verdict_.errors.end(), loose_.begin(), loose_.end());
  verdict_.warnings = warnings_.all(log_);
  point_at_similar_keys(verdict_.errors);
}

void RuleCheck::report_bad_lines() {
  const auto& bad = log_.bad_lines();
  Finding finding{"", "Log lines had parsing errors.", "", "", "", 0, 0, "log/bad-lines"};
  finding.log_line = log_.line_number(bad.front().offset);
  finding.found = cut(bad.front().text);
  finding.rule = fmt::format(
      "{}{}", bad.front().reason,
      log_.bad_line_count() == 1 ? "" : fmt::format(" ({} such lines)", log_.bad_line_count()));
  put(std::move(finding));
}

void RuleCheck::put(Finding finding) {
  if (finding.key.empty()) {
    loose_.push_back(std::move(finding));
  } else {
    keyed_.put(std::move(finding));
  }
}

void RuleCheck::warn(Finding finding) {
  werror_ ? put(std::move(finding)) : warnings_.put(std::move(finding));
}

uint64_t RuleCheck::line_number(uint64_t offset) const {
  return offset == kNoOffset ? 0 : log_.line_number(offset);
}

// One pass of one rule file over the log.
void RuleCheck::apply(const RuleFile& file) {
  RuleHost host;
  host.event_count = log_.event_count() + added_.size();
  host.enqueue_config = [&](std::string_view name) {
    if (queue_.size() >= kMaxRuleFiles)
      throw RuleBudgetError("the rules ask for too many rule files");
    queue_.emplace_back(name);
  };
  host.append_event = [&](const Value& line) {
    if (added_.size() >= log_.event_count() + kAddedEvents)
      throw RuleBudgetError("the rules add too many events");
    added_.push_back(line);
    host.event_count = log_.event_count() + added_.size();
  };
  Evaluator evaluator(heap_, host);
  host.visit_events = [&](const std::function<void(const Value&)>& visit) {
    log_.visit([&](const mllog::Event& event) {
      heap_.spend_text(event.line.size());
      visit(line_of(event, value_of(event)));
      return true;
    });
    for (size_t i = 0; i < added_.size(); ++i) visit(Value(added_[i]));
  };

  if (file.begin) begin(*file.begin, evaluator);
  for (const KeyRule& rule : file.keys) keyed_.erase(rule.name);
  std::vector<Occurrences> occurrences(file.keys.size());
  std::vector<size_t> any_order;
  log_.visit([&](const mllog::Event& event) {
    const auto found = file.by_key.find(event.key);
    if (!found) return true;
    visit_event(file.keys[*found], occurrences[*found], event, evaluator);
    note_any(file.keys[*found], occurrences[*found], *found, any_order);
    return true;
  });
  for (size_t i = 0; i < added_.size(); ++i)
    visit_added(file, Value(added_[i]), occurrences, any_order, evaluator);
  report_any(file, occurrences, any_order);
  report_requirements(file, occurrences);
  end(file, evaluator);
}

void RuleCheck::begin(const RuleCode& code, Evaluator& evaluator) {
  try {
    evaluator.execute(code.fragment);
  } catch (const RuleError& error) {
    put({"", "Failed executing BEGIN code", code.fragment.source, error.what(), code.file,
         code.line, 0, rule_id(code.file, "BEGIN", "CODE")});
  }
}

void RuleCheck::end(const RuleFile& file, Evaluator& evaluator) {
  if (file.end_pre) {
    try {
      evaluator.execute(file.end_pre->fragment);
    } catch (const RuleError& error) {
      put({"", "Failed executing END PRE code", file.end_pre->fragment.source, error.what(),
           file.end_pre->file, file.end_pre->line, 0, rule_id(file.end_pre->file, "END", "PRE")});
    }
  }
  for (size_t i = 0; i < file.end_checks.size(); ++i) {
    const RuleCode& code = file.end_checks[i];
    const std::string id = rule_id(code.file, "END", check_name(i));
    try {
      if (evaluator.check(code.fragment, file.end_pre.has_value())) continue;
      put({"", fmt::format("failed test: {}", code.fragment.source), code.fragment.source,
           fmt::format("state s = {}", to_repr(evaluator.state(), kShownBytes)), code.file,
           code.line, 0, id});
    } catch (const RuleError& error) {
      put({"", "Failed executing CHECK code:", code.fragment.source, error.what(), code.file,
           code.line, 0, id});
    }
  }
}

}  // namespace strata::compliance

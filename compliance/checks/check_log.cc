#include "compliance/checks/check_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <new>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "compliance/checks/rounds.h"
#include "compliance/checks/similar_keys.h"
#include "compliance/language/rule_evaluator.h"
#include "compliance/sources/install.h"

namespace strata::compliance {
namespace {

constexpr size_t kShownBytes = 300;
constexpr size_t kMaxRuleFiles = 64;
// Of all rule files together; the published rounds' take 260 an event at most.
constexpr uint64_t kBaseSteps = 20'000'000;
constexpr uint64_t kStepsPerEvent = 2000;
constexpr size_t kMaxHeapBytes = 256 << 20;
// Events that rules may add to those of the log, and as many again.
constexpr size_t kAddedEvents = 1000;
constexpr uint64_t kNoOffset = ~uint64_t{0};  // of nothing in the log

std::string cut(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  return std::string(text.substr(0, kShownBytes)) + "...";
}

Finding no_events(const EventLog& log) {
  const std::string why = log.bad_line_count() == 0 ? cut(log.why_no_token()) : "";
  return {"", kNoEvents, "", why, "", 0, 0, "log/no-events"};
}

// How long what ends with this event took, and how long it may.
std::string describe_time(const std::string& key, double took_ms, double limit_ms) {
  constexpr double kMsPerMinute = 60'000;
  const double took = took_ms / kMsPerMinute, limit = limit_ms / kMsPerMinute;
  const bool close = std::fabs(took - limit) < 0.05;  // and would be written alike
  return fmt::format("{} took {:.{}f} of {}",
                     key == "init_stop" ? "initialisation" : "the time to '" + key + "'", took,
                     close ? 5 : 1, counted(limit, "minute"));
}

std::string rule_id(std::string file, std::string_view key, std::string_view field) {
  if (file.ends_with(".yaml")) file.resize(file.size() - 5);
  return fmt::format("{}/{}/{}", file, key, field);
}

// The name of the check `index` of a key.
std::string check_name(size_t index) {
  return index == 0 ? "CHECK" : fmt::format("CHECK-{}", index + 1);
}

// Findings by key, where a later one replaces an earlier one, in order of first appearance: the
// official checker's book-keeping, which decides how many errors a log has.
class KeyedFindings {
 public:
  // `offset`: the byte of the log that it is about, whose line is only counted where it stays.
  void put(Finding finding, uint64_t offset = kNoOffset) {
    const auto found = find(finding.key);
    if (found == findings_.end()) {
      findings_.push_back({std::move(finding), offset});
    } else {
      *found = {std::move(finding), offset};
    }
  }
  void erase(const std::string& key) {
    if (const auto found = find(key); found != findings_.end()) findings_.erase(found);
  }
  std::vector<Finding> all(const EventLog& log) {
    std::vector<Finding> findings;
    for (auto& [finding, offset] : findings_) {
      if (offset != kNoOffset) finding.log_line = log.line_number(offset);
      if (finding.summary.empty()) {
        finding.summary =
            fmt::format("CHECK for '{}' failed in line {}:", finding.key, finding.log_line);
      }
      findings.push_back(std::move(finding));
    }
    return findings;
  }

 private:
  struct Kept {
    Finding finding;  // without a summary: of a check that failed
    uint64_t offset;
  };
  std::vector<Kept>::iterator find(const std::string& key) {
    return std::find_if(findings_.begin(), findings_.end(),
                        [&](const Kept& known) { return known.finding.key == key; });
  }
  std::vector<Kept> findings_;
};

// What a log holds under one key, as far as requirements ask.
struct Occurrences {
  uint64_t count = 0;
  std::string first_json;
  Value first;
  bool all_same = true;
  std::set<std::string> distinct;  // the first few, as text
  bool executed = false;           // for submission_ keys, whose code runs once
  bool first_checked = false;
  bool any_met = false;  // ATLEAST_ONE_CHECK
  bool any_tried = false;
  std::string any_error;
  std::string last_json;  // of the last value an ATLEAST_ONE_CHECK saw
  uint64_t last_offset = 0;
  uint64_t error_offset = 0;
};

class Check {
 public:
  Check(const EventLog& log, RuleStore& rules, LogVerdict& verdict, bool werror)
      : log_(log),
        rules_(rules),
        verdict_(verdict),
        werror_(werror),
        heap_(kMaxHeapBytes, kBaseSteps + kStepsPerEvent * log.event_count()) {}

  void run() {
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
          put({"", fmt::format("Could not find config file: {}", one_line(name, kShownBytes)), "",
               "", "", 0, 0, "log/rule-file-missing"});
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

 private:
  // Adds to the finding about a missing key the similar key of the log that no rule asks for.
  void point_at_similar_keys(std::vector<Finding>& findings) {
    const auto is_missing = [](const Finding& finding) {
      return finding.id.ends_with("/REQ") &&
             (finding.found == "0 occurrences" || finding.found == "no occurrence");
    };
    if (std::ranges::none_of(findings, is_missing)) return;
    constexpr size_t kMostKeys = 1000;
    std::vector<std::string> keys;
    std::unordered_map<std::string, uint64_t> offsets;
    log_.visit([&](const Event& event) {
      const auto asks = [&](const auto& file) { return file->by_key.find(event.key).has_value(); };
      if (!offsets.contains(std::string(event.key)) && std::ranges::none_of(files_, asks)) {
        keys.emplace_back(event.key);
        offsets.emplace(event.key, event.offset);
      }
      return keys.size() < kMostKeys;
    });
    for (Finding& finding : findings) {
      if (!is_missing(finding)) continue;
      std::string_view wanted = finding.id;
      wanted.remove_suffix(std::string_view("/REQ").size());
      wanted.remove_prefix(wanted.rfind('/') + 1);
      const std::string_view key = similar_key(wanted, keys);
      if (key.empty()) continue;
      finding.found += fmt::format("; the log has '{}', a similar key, in line {}", one_line(key),
                                   log_.line_number(offsets.at(std::string(key))));
    }
  }

  void report_bad_lines() {
    const auto& bad = log_.bad_lines();
    Finding finding{"", "Log lines had parsing errors.", "", "", "", 0, 0, "log/bad-lines"};
    finding.log_line = log_.line_number(bad.front().offset);
    finding.found = cut(bad.front().text);
    finding.rule = fmt::format(
        "{}{}", bad.front().reason,
        log_.bad_line_count() == 1 ? "" : fmt::format(" ({} such lines)", log_.bad_line_count()));
    put(std::move(finding));
  }

  void put(Finding finding) {
    if (finding.key.empty()) {
      loose_.push_back(std::move(finding));
    } else {
      keyed_.put(std::move(finding));
    }
  }
  void warn(Finding finding) {
    werror_ ? put(std::move(finding)) : warnings_.put(std::move(finding));
  }

  // One pass of one rule file over the log.
  void apply(const RuleFile& file) {
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
      log_.visit([&](const Event& event) {
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
    log_.visit([&](const Event& event) {
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

  void begin(const RuleCode& code, Evaluator& evaluator) {
    try {
      evaluator.execute(code.fragment);
    } catch (const RuleError& error) {
      put({"", "Failed executing BEGIN code", code.fragment.source, error.what(), code.file,
           code.line, 0, rule_id(code.file, "BEGIN", "CODE")});
    }
  }

  static void note_any(const KeyRule& rule, Occurrences& seen, size_t index,
                       std::vector<size_t>& order) {
    if (!rule.at_least_one_check || seen.any_tried) return;
    seen.any_tried = true;
    order.push_back(index);
  }

  Value value_of(const Event& event) {
    if (event.metadata.empty()) return value_from_json(event.value, heap_);  // round 0.6
    Value v = heap_.dict();
    complete(v, event);
    return v;
  }

  // Adds what `v`, a dictionary, was made without. Code that looks at no more than v['value'] can
  // have changed nothing else.
  void complete(const Value& v, const Event& event) {
    if (v.dict().entries.empty())
      v.dict().insert(name_value_) = value_from_json(event.value, heap_);
    if (v.dict().entries.size() == 1)
      v.dict().insert(name_metadata_) = value_from_json(event.metadata, heap_);
  }

  Value line_of(const Event& event, const Value& v) {
    Value value = heap_.line();
    Line& line = value.line();
    line.key = std::string(event.key);
    line.full_string = std::string(event.line);
    line.timestamp = event.time_ms;
    line.lineno = static_cast<int64_t>(event.offset);
    line.value = v;
    return value;
  }

  void visit_event(const KeyRule& rule, Occurrences& seen, const Event& event,
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

  void visit_added(const RuleFile& file, const Value& line, std::vector<Occurrences>& occurrences,
                   std::vector<size_t>& any_order, Evaluator& evaluator) {
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

  void count_json(Occurrences& seen, std::string_view json) {
    if (seen.count > 0 && json == seen.first_json) {
      ++seen.count;
      return;
    }
    if (seen.count == 0) seen.first_json = std::string(json);
    count_value(seen, value_from_json(json, heap_));
  }

  void count_value(Occurrences& seen, const Value& value) {
    constexpr size_t kMaxDistinct = 8;
    if (seen.count++ == 0) {
      seen.first = value;
    } else if (!safe_equal(value, seen.first)) {
      seen.all_same = false;
    }
    if (seen.distinct.size() < kMaxDistinct) seen.distinct.insert(to_str(value, kShownBytes));
  }

  bool safe_equal(const Value& a, const Value& b) {
    try {
      return equal(a, b, heap_);
    } catch (const RuleError&) {
      return false;
    }
  }

  // What code runs for.
  struct Visit {
    uint64_t offset;
    std::string_view line;
    const Value& v;
    const Event* event;  // what `v` is made of, as far as the code looks at it; null: all is there
  };

  void run_code(const KeyRule& rule, Occurrences& seen, const Visit& visit, Evaluator& evaluator) {
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

  std::string shown(const Visit& visit) {
    if (visit.event == nullptr) return to_repr(visit.v, kShownBytes);
    const Value whole = visit.v.kind() == Kind::kNone ? heap_.dict() : visit.v;
    complete(whole, *visit.event);
    return to_repr(whole, kShownBytes);
  }

  // `index`: of a CHECK; absent: FIRST_CHECK.
  void check(const KeyRule& rule, const RuleCode& code, std::optional<size_t> index,
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

  void execute(const KeyRule& rule, const RuleCode& code, std::string_view action,
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

  static void fill(Finding& finding, const std::string& key, const RuleCode& code,
                   std::string_view field) {
    finding.id = rule_id(code.file, key, field);
    finding.key = key;
    finding.rule = code.fragment.source;
    finding.rule_file = code.file;
    finding.rule_line = code.line;
  }

  uint64_t line_number(uint64_t offset) const {
    return offset == kNoOffset ? 0 : log_.line_number(offset);
  }

  // Every value is looked at, also after one that passes: one that cannot be ends the official
  // checker.
  void try_any(const RuleCode& code, Occurrences& seen, const Visit& visit, Evaluator& evaluator) {
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

  void report_any(const RuleFile& file, const std::vector<Occurrences>& occurrences,
                  const std::vector<size_t>& order) {
    for (const size_t index : order) {
      const Occurrences& seen = occurrences[index];
      const KeyRule& rule = file.keys[index];
      const RuleCode& code = *rule.at_least_one_check;
      if (seen.any_met) {
        if (seen.any_error.empty()) continue;
        put({"", fmt::format("A value of '{}' ends the official checker with an error", rule.name),
             code.fragment.source, seen.any_error, code.file, code.line,
             line_number(seen.error_offset), rule_id(code.file, rule.name, "ATLEAST_ONE_CHECK")});
        continue;
      }
      Finding finding{
          "",
          fmt::format("Failed checks for {} : {}", rule.name, code.fragment.source),
          code.fragment.source,
          fmt::format("the last of {}: {}", counted(seen.count, "value"), seen.last_json),
          code.file,
          code.line,
          line_number(seen.last_offset),
          rule_id(code.file, rule.name, "ATLEAST_ONE_CHECK")};
      if (!seen.any_error.empty()) finding.found += fmt::format(" ({})", seen.any_error);
      put(std::move(finding));
    }
  }

  void report_requirements(const RuleFile& file, const std::vector<Occurrences>& occurrences) {
    std::set<std::set<std::string>> alternatives;
    for (size_t i = 0; i < file.keys.size(); ++i) {
      const KeyRule& rule = file.keys[i];
      const Occurrences& seen = occurrences[i];
      Finding finding{rule.name,
                      "",
                      rule.requirement.text,
                      counted(seen.count, "occurrence"),
                      rule.file,
                      rule.line,
                      0,
                      rule_id(rule.file, rule.name, "REQ")};
      switch (rule.requirement.kind) {
        case Requirement::kNone:
          break;
        case Requirement::kExactlyOne:
          if (seen.count == 1) break;
          finding.summary = fmt::format("Required EXACTLY_ONE occurrence of '{}' but found {}",
                                        rule.name, seen.count);
          if (seen.count > 0 && seen.all_same) {
            warn(std::move(finding));
            break;
          }
          if (seen.count > 0) {
            finding.found = fmt::format("{} occurrences with different values: [{}]", seen.count,
                                        fmt::join(seen.distinct, ", "));
            finding.summary +=
                fmt::format(" with different values: [{}]", fmt::join(seen.distinct, ", "));
          }
          put(std::move(finding));
          break;
        case Requirement::kAtLeast:
          if (seen.count >= rule.requirement.least) break;
          finding.summary = fmt::format("Required {} occurrence of '{}' but found {}",
                                        rule.requirement.text, rule.name, seen.count);
          put(std::move(finding));
          break;
        case Requirement::kAtLeastOneOr: {
          std::set<std::string> keys(rule.requirement.alternatives.begin(),
                                     rule.requirement.alternatives.end());
          keys.insert(rule.name);
          if (!alternatives.insert(keys).second) break;
          const bool any = std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
            const auto found = file.by_key.find(key);
            return found && occurrences[*found].count > 0;
          });
          if (any) break;
          finding.key.clear();
          finding.summary =
              fmt::format("Required AT_LEAST_ONE occurrence of '{}'", fmt::join(keys, "' or '"));
          finding.found = "no occurrence";
          put(std::move(finding));
          break;
        }
      }
    }
  }

  void end(const RuleFile& file, Evaluator& evaluator) {
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

  const EventLog& log_;
  RuleStore& rules_;
  LogVerdict& verdict_;
  bool werror_;
  std::vector<std::shared_ptr<const RuleFile>>
      files_;  // outlive the heap, whose values may refer to their constants
  Heap heap_;
  const Value name_value_ = heap_.str("value");
  const Value name_metadata_ = heap_.str("metadata");
  std::deque<std::string> queue_;
  std::vector<Value> added_;
  KeyedFindings keyed_;
  KeyedFindings warnings_;
  std::vector<Finding> loose_;
};

}  // namespace

void require_round(const RuleStore& rules, const std::string& usage, const std::string& ruleset) {
  const auto known = known_rulesets(usage);
  if (std::ranges::find(known, ruleset) != known.end() || rules.has_ruleset(usage, ruleset)) return;
  fail("there is no round '{}' of {}; there are: {}", ruleset, usage, fmt::join(known, ", "));
}

LogVerdict check_log(const EventLog& log, RuleStore& rules, const std::string& usage,
                     const std::string& ruleset, bool werror) {
  LogVerdict verdict;
  verdict.path = log.path();
  verdict.usage = usage;
  verdict.ruleset = ruleset;
  verdict.ground = "given";
  verdict.benchmark = logged_benchmark(log);
  verdict.event_count = log.event_count();
  if (!rules.has_ruleset(usage, ruleset)) {
    if (verdict.event_count == 0) {
      verdict.errors.push_back(no_events(log));
    } else {
      verdict.not_judged =
          fmt::format("there are no rules for {} {} among {}; {}{}", usage, ruleset,
                      rules.description(), how_to_get_rules(usage, ruleset),
                      rules.source() == "given" ? ", and leave --rules out" : "");
    }
    return verdict;
  }
  // A benchmark that the round does not have fails by the rules there are.
  const auto& benchmarks = round_benchmarks(usage, ruleset);
  const bool of_round =
      std::find(benchmarks.begin(), benchmarks.end(), verdict.benchmark) != benchmarks.end();
  RuleStore& judging = rules.judging(usage, ruleset, verdict.benchmark, of_round);
  verdict.rules = judging.identity(usage, ruleset);
  if (of_round && !judging.covers(verdict.benchmark)) {
    verdict.not_judged = fmt::format(
        "Strata's own rules cover BERT; for benchmark '{}' give --rules with the official rule "
        "files; {}",
        one_line(verdict.benchmark, kShownBytes), how_to_get_rules(usage, ruleset));
    return verdict;
  }
  Check(log, judging, verdict, werror).run();
  return verdict;
}

LogVerdict check_log(const std::filesystem::path& path, RuleStore& rules,
                     const CheckOptions& options) {
  const LogFormat format = options.ruleset == "0.6.0" ? LogFormat::kMll : LogFormat::kMllog;
  EventLog log(path, format);
  RulesetChoice choice = infer_ruleset(log, options.usage, options.ruleset);
  if (choice.ruleset == "0.6.0" && format != LogFormat::kMll) log = EventLog(path, LogFormat::kMll);
  require_round(rules, choice.usage, choice.ruleset);
  LogVerdict verdict = check_log(log, rules, choice.usage, choice.ruleset, options.werror);
  verdict.ground = choice.ground;
  if (options.then) options.then(log, verdict);
  return verdict;
}

LogVerdict check_log(const std::filesystem::path& path, const CheckOptions& options) {
  RuleStore rules;
  return check_log(path, rules, options);
}

LogVerdict check_one_of_many(const std::filesystem::path& path, RuleStore& rules,
                             const CheckOptions& options) {
  try {
    return check_log(path, rules, options);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return unreadable_log(path, error.what());
  }
}

LogVerdict unreadable_log(const std::filesystem::path& path, const std::string& reason) {
  LogVerdict verdict;
  verdict.path = path;
  verdict.ground = "given";
  verdict.readable = false;
  verdict.errors.push_back({"", reason, "", "", "", 0, 0, "log/unreadable"});
  return verdict;
}

std::string found_beyond_summary(const Finding& finding) {
  constexpr std::string_view kFound = "but found ";
  const size_t at = finding.summary.find(kFound);
  const bool says_nothing = finding.found.starts_with("no occurrence");
  if (at == finding.summary.npos && !says_nothing) return finding.found;
  // "2 occurrences with different values: [1, 2]" says no more than the summary.
  const size_t more = finding.found.find("; the log has ");
  if (more != finding.found.npos) return finding.found.substr(more + 2);
  const bool is_count = says_nothing || finding.found.find(" occurrence") <
                                            finding.found.find_first_not_of("0123456789,") + 2;
  return is_count ? std::string() : finding.found;
}

std::string describe(const Finding& finding) {
  std::string text;
  if (finding.log_line > 0) text += fmt::format("line {}: ", finding.log_line);
  // Code of a rule may have several lines; a value of the log must not.
  const bool has_code =
      !finding.rule.empty() && finding.summary.find(finding.rule) != std::string::npos;
  const bool has_lines = has_code && finding.rule.find('\n') != std::string::npos;
  text += has_lines ? finding.summary : one_line(finding.summary);
  if (!finding.rule.empty() && !has_code) text += fmt::format("\n  wanted: {}", finding.rule);
  if (const std::string found = found_beyond_summary(finding); !found.empty())
    text += fmt::format("\n  found:  {}", one_line(found));
  if (finding.rule_line > 0)
    text += fmt::format("\n  rule:   {}:{}", one_line(finding.rule_file), finding.rule_line);
  return text;
}

}  // namespace strata::compliance

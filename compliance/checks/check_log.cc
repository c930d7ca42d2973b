#include "compliance/checks/check_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/text/printable.h"
#include "compliance/checks/rounds.h"
#include "compliance/checks/rules/rule_check.h"
#include "compliance/sources/install.h"

namespace strata::compliance {

void require_round(const RuleStore& rules, const std::string& usage, const std::string& ruleset) {
  const auto known = known_rulesets(usage);
  if (std::ranges::find(known, ruleset) != known.end() || rules.has_ruleset(usage, ruleset)) return;
  fail("there is no round '{}' of {}; the rounds are: {}", ruleset, usage, fmt::join(known, ", "));
}

LogVerdict check_log(const mllog::LogReader& log, RuleStore& rules, const std::string& usage,
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
      verdict.not_judged = fmt::format(
          "there are no rules for {} {} in {}; {}{}", usage, ruleset, rules.description(),
          how_to_get_rules(usage, ruleset),
          rules.source() == "given" ? "; without --rules, installed rules are used, too" : "");
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
        "Strata's own rules cover only BERT; benchmark '{}' needs the official rules (--rules "
        "DIR); {}",
        one_line(verdict.benchmark, kShownBytes), how_to_get_rules(usage, ruleset));
    return verdict;
  }
  RuleCheck(log, judging, verdict, werror).run();
  return verdict;
}

LogVerdict check_log(const std::filesystem::path& path, RuleStore& rules,
                     const CheckOptions& options) {
  const mllog::LogFormat format =
      options.ruleset == "0.6.0" ? mllog::LogFormat::kMll : mllog::LogFormat::kMllog;
  mllog::LogReader log(path, format);
  RulesetChoice choice = infer_ruleset(log, options.usage, options.ruleset);
  if (choice.ruleset == "0.6.0" && format != mllog::LogFormat::kMll)
    log = mllog::LogReader(path, mllog::LogFormat::kMll);
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

}  // namespace strata::compliance

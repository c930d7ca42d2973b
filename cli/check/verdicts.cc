#include "cli/check/verdicts.h"

#include <fmt/format.h>

#include <utility>

#include "base/text/printable.h"
#include "cli/output/print.h"
#include "compliance/package/report.h"

namespace strata::cli {
namespace {

using compliance::Outcome;
using compliance::Section;

}  // namespace

int exit_code_of(Outcome outcome, const CheckOptions& options) {
  const bool wanted =
      outcome == Outcome::kPassed || (outcome == Outcome::kNotJudged && !options.require_verdict);
  return wanted ? 0 : 1;
}

void show(const CheckOptions& options, const std::string& verdicts) {
  // JSON and GitHub's commands have escapes of their own.
  const bool is_plain = !options.json && !options.github;
  const std::string shown = is_plain ? printable_lines(verdicts) : verdicts;
  if (!options.log_output.empty())
    write_output(options.log_output, printable_lines(options.inferred) + shown);
  fmt::print("{}", shown);
}

int print_sections(std::vector<Section> sections, const CheckOptions& options) {
  std::string text;
  for (Section& section : sections) {
    if (options.quiet) section.warnings.clear();
    if (options.quiet && section.passed() && sections.size() > 1) continue;
    text += compliance::section_text(section);
  }
  show(options, options.json ? compliance::section_json(sections) : text);
  return exit_code_of(compliance::outcome_of(sections), options);
}

compliance::RulesetChoice choose_ruleset(const CheckOptions& options, const std::string& path) {
  auto choice = compliance::infer_ruleset_of_tree(path, options.usage, options.ruleset);
  if (options.json || options.github) return choice;
  if (options.ruleset.empty()) {
    options.inferred = fmt::format("ruleset: {} {} (from the {}; --ruleset overrides)\n",
                                   choice.usage, choice.ruleset, choice.ground);
  } else if (options.usage.empty() && choice.usage != "training") {
    options.inferred =
        fmt::format("usage: {} (from the benchmarks; --usage overrides)\n", choice.usage);
  }
  say("{}", options.inferred);
  return choice;
}

}  // namespace strata::cli

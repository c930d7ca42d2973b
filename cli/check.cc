#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "compliance/check_log.h"

namespace strata::cli {
namespace {

using compliance::CheckOptions;
using compliance::Finding;
using compliance::LogVerdict;
using compliance::RuleStore;

struct LogOptions {
  std::vector<std::string> files;
  std::string rules;
  CheckOptions check;
  bool json = false;
};

std::unique_ptr<RuleStore> open_rules(const std::string& directory) {
  return directory.empty() ? std::make_unique<RuleStore>() : std::make_unique<RuleStore>(directory);
}

void print_findings(const std::vector<Finding>& findings, std::string_view kind) {
  for (const Finding& finding : findings) {
    std::string text = compliance::describe(finding);
    for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3)
      text.replace(at, 1, "\n  ");
    fmt::print("  {}: {}\n", kind, text);
  }
}

void print_verdict(const LogVerdict& verdict) {
  fmt::print("{} {}\n", verdict.passed() ? "PASS" : "FAIL", verdict.path.string());
  if (verdict.ground != "given") {
    fmt::print("  ruleset: {} {} (from the {}; --ruleset overrides)\n", verdict.usage,
               verdict.ruleset, verdict.ground);
  }
  print_findings(verdict.errors, "error");
  print_findings(verdict.warnings, "warning");
}

int check_logs(const LogOptions& options) {
  const auto rules = open_rules(options.rules);
  bool all_passed = true;
  for (const std::string& file : options.files) {
    const LogVerdict verdict = compliance::check_log(file, *rules, options.check);
    all_passed &= verdict.passed();
    print_verdict(verdict);
  }
  return all_passed ? 0 : 1;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* check =
      app.add_subcommand("check", "Check logs and submissions against the MLPerf rules");
  check->require_subcommand(1);
  CLI::App* log = check->add_subcommand("log", "Check each log file against its round's rules");
  const auto options = std::make_shared<LogOptions>();
  log->add_option("FILE", options->files, "Log files")->required();
  log->add_option("--ruleset", options->check.ruleset,
                  "Round whose rules apply, such as 2.1.0 (default: inferred)");
  log->add_option("--rules", options->rules,
                  "Directory of rule files, such as the official checker's");
  log->add_option("--usage", options->check.usage, "training or hpc (default: inferred)");
  log->add_flag("--werror", options->check.werror, "Count warnings as errors");
  log->callback([options, &exit_code] { exit_code = check_logs(*options); });
}

}  // namespace strata::cli

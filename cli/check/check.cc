#include <functional>
#include <memory>
#include <string>

#include "cli/check/options.h"
#include "cli/commands.h"
#include "cli/options/outputs.h"
#include "cli/options/rule_options.h"

namespace strata::cli {
namespace {

// Adds a subcommand that runs `run`. The caller adds the options that concern it.
CLI::App* add(CLI::App& check, const std::shared_ptr<CheckOptions>& options, int& exit_code,
              const std::string& name, const std::string& help,
              const std::function<int(const CheckOptions&)>& run) {
  CLI::App* command = check.add_subcommand(name, help);
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag(
      "--quiet", options->quiet,
      "Print only failures and a summary; omit warnings and findings, unless --werror or --strict "
      "makes them errors");
  command->add_flag("--require-verdict", options->require_verdict,
                    "Also exit with code 1 if something was not judged");
  names_output(command->add_option("--log-output,--log_output", options->log_output,
                                   "Also write what is printed to this file"))
      ->type_name("FILE");
  command->callback([options, &exit_code, run] { exit_code = run(*options); });
  return command;
}

void add_ruleset(CLI::App& command, CheckOptions& options) {
  add_ruleset_options(command, options.ruleset, options.usage);
}

void add_rules(CLI::App& command, CheckOptions& options) {
  add_rules_option(command, options.rules);
  command.add_flag("--werror", options.werror, "Count warnings as errors");
  command.add_flag("--strict", options.strict,
                   "Count the review's findings as errors, although they break no official rule");
  command.add_option("--threads", options.threads,
                     "Threads that read logs (default: one per core)");
}

void add_formats(CLI::App& command, CheckOptions& options) {
  names_output(command.add_option("--sarif", options.sarif,
                                  "Also write the findings to this file as SARIF 2.1.0"))
      ->type_name("FILE");
  names_output(command.add_option("--junit", options.junit,
                                  "Also write the verdicts to this file as JUnit XML"))
      ->type_name("FILE");
  command
      .add_flag("--github", options.github,
                "Print only GitHub's workflow commands, which annotate files")
      ->excludes(command.get_option("--json"));
}

void add_rcp(CLI::App& command, CheckOptions& options) {
  add_rcp_option(command, options.rcp, true);
  command
      .add_option("--rcp-pass", options.rcp_pass,
                  "Reference points to use: pruned (default; without dominated points), or full")
      ->check(CLI::IsMember({"pruned", "full", "pruned_rcps", "full_rcps"}));
  command.add_flag(
      "--write-scaling", options.write_scaling,
      "Write scaling.json if the check asks for a factor; an existing file is never replaced");
  command.add_flag(
      "--rcp-bypass", options.rcp_bypass,
      "Only warn if runs converge too fast, or if their batch size has no reference point");
  command.add_flag(
      "--rcp-bert-train-samples,--bert_train_samples", options.bert_train_samples,
      "Take BERT's samples to converge from train_samples, not from the last evaluation");
}

void add_directory(CLI::App& command, CheckOptions& options, const std::string& help) {
  command.add_option("DIR", options.paths, help)->required()->expected(1);
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* check =
      app.add_subcommand("check", "Check logs and submissions against the MLPerf rules");
  check->require_subcommand(1);
  const auto options = std::make_shared<CheckOptions>();
  const auto add_one = [&](const std::string& name, const std::string& help,
                           const std::function<int(const CheckOptions&)>& run) {
    return add(*check, options, exit_code, name, help, run);
  };

  CLI::App* log = add_one("log", "Check each log against its round's rules", check_logs);
  log->add_option("FILE", options->paths, "Logs, or folders whose result_*.txt are checked")
      ->required();
  add_ruleset(*log, *options);
  add_rules(*log, *options);
  add_formats(*log, *options);

  for (const bool whole_round : {false, true}) {
    CLI::App* package = add_one(
        whole_round ? "round" : "package",
        whole_round ? "Check all submissions of a round"
                    : "Check a submission: result files, logs, seeds, convergence, systems",
        [whole_round](const CheckOptions& given) { return check_packages(given, whole_round); });
    add_directory(*package, *options,
                  whole_round ? "Folder of submitters" : "Folder with results/ and systems/");
    add_ruleset(*package, *options);
    add_rules(*package, *options);
    add_formats(*package, *options);
    add_rcp(*package, *options);
    package->add_flag("--seed-checker-bypass", options->seed_bypass, "Do not check seeds");
  }

  CLI::App* rcp = add_one(
      "rcp", "Check convergence against the reference convergence points (RCPs)", check_rcp);
  add_directory(*rcp, *options, "Result folder, or a folder that contains result folders");
  add_ruleset(*rcp, *options);
  add_rules_option(*rcp, options->rules);
  add_rcp(*rcp, *options);
  rcp->add_option("--custom-rcps,--custom_rcps", options->custom_rcps,
                  "Use the reference points of this file (official format)")
      ->type_name("FILE")
      ->excludes(rcp->get_option("--rcp"));

  CLI::App* system = add_one("system", "Check system descriptions", check_systems);
  system->add_option("FILE", options->paths, "systems/<system>.json")->required();
  add_ruleset(*system, *options);

  CLI::App* seeds = add_one("seeds", "Check that each run logs a seed of its own", check_seeds);
  add_directory(*seeds, *options, "Result folder, or a folder that contains result folders");
  add_ruleset(*seeds, *options);
  add_directory(*add_one("power", "Check that power logs are complete and numbered", check_power),
                *options, "Result folder, or a folder that contains result folders");
  add_directory(
      *add_one("repo", "Check that git can store file names, sizes and links", check_repository),
      *options, "Submission");
}

}  // namespace strata::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text/json_version.h"
#include "cli/commands.h"
#include "cli/options/rule_options.h"
#include "cli/output/print.h"
#include "cli/output/write_json.h"
#include "compliance/checks/rounds.h"
#include "compliance/package/report.h"
#include "compliance/sources/install.h"
#include "compliance/sources/installed.h"
#include "compliance/sources/rule_diff.h"

namespace strata::cli {
namespace {

using compliance::RuleStore;
using nlohmann::json;

void print_json(json value) {
  value["version"] = kJsonVersion;
  write_json(value);
}

// ---- List

// Returns the built-in rules, then installed ones in the order in which they are used.
std::vector<std::unique_ptr<RuleStore>> all_rules() {
  std::vector<std::unique_ptr<RuleStore>> all;
  all.push_back(std::make_unique<RuleStore>());
  for (const auto& installed : compliance::installed_rules())
    all.push_back(std::make_unique<RuleStore>(installed.package, "found"));
  return all;
}

int list_rules(bool as_json) {
  json out = {{"rule_sets", json::array()}};
  for (const auto& rules : all_rules()) {
    if (!as_json && rules->source() == "built in") {
      say("built in: Strata's own {}, for BERT\n", rules->version());
    } else if (!as_json) {
      say("found: mlperf_logging {}in {}\n", rules->version().empty() ? "" : rules->version() + " ",
          rules->directory().string());
    }
    for (const char* usage : {"training", "hpc"}) {
      for (const std::string& ruleset : rules->own_rulesets(usage)) {
        const auto identity = rules->identity(usage, ruleset);
        json entry = compliance::rules_json(identity);
        entry["usage"] = usage;
        entry["ruleset"] = ruleset;
        out["rule_sets"].push_back(std::move(entry));
        if (!as_json) say("  {} {:<6} sha256 {}\n", usage, ruleset, identity.sha256);
      }
    }
  }
  if (as_json) print_json(std::move(out));
  return 0;
}

// ---- Diff

struct DiffCommand {
  std::string before, after;
  std::string usage = "training";
  std::string rules, against;
  bool json = false;
};

std::unique_ptr<RuleStore> store_of(const std::string& given) {
  return given.empty() || given == compliance::kBuiltIn ? std::make_unique<RuleStore>()
                                                        : std::make_unique<RuleStore>(given);
}

// Returns the first rules that have both rounds.
std::unique_ptr<RuleStore> rules_with_both(const DiffCommand& command) {
  for (auto& rules : all_rules()) {
    if (rules->has_own_ruleset(command.usage, command.before) &&
        rules->has_own_ruleset(command.usage, command.after))
      return std::move(rules);
  }
  const auto all = compliance::open_rules("");
  fail(
      "no installed rules have both {} and {} for {}; the rulesets are: {} (see 'strata rules "
      "list')",
      command.before, command.after, command.usage, fmt::join(all->rulesets(command.usage), ", "));
}

std::string_view word(compliance::RuleChange::Kind kind) {
  constexpr std::string_view kWords[] = {"added", "removed", "changed"};
  return kWords[kind];
}

// Puts a mark before each line of a text.
std::string marked(char mark, const std::string& field, std::string text) {
  const std::string start = fmt::format("    {} ", mark);
  while (text.ends_with('\n')) text.pop_back();
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += start.size() + 1)
    text.insert(at + 1, start);
  return fmt::format("{}{}: {}\n", start, field, text);
}

// Returns the benchmarks that a round has and the other lacks.
std::vector<std::string> benchmarks_without(const std::string& usage, const std::string& of,
                                            const std::string& other) {
  std::vector<std::string> names;
  const auto& known = compliance::round_benchmarks(usage, other);
  for (const std::string_view name : compliance::round_benchmarks(usage, of)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) names.emplace_back(name);
  }
  return names;
}

int diff_rules(const DiffCommand& command) {
  const auto before = !command.rules.empty()    ? store_of(command.rules)
                      : command.against.empty() ? rules_with_both(command)
                                                : store_of("");
  const auto other = command.against.empty() ? nullptr : store_of(command.against);
  const compliance::RuleDiff diff = compliance::diff_rules(
      *before, command.before, other ? *other : *before, command.after, command.usage);
  const auto added = benchmarks_without(command.usage, command.after, command.before);
  const auto removed = benchmarks_without(command.usage, command.before, command.after);
  if (command.json) {
    json changes = json::array();
    for (const auto& change : diff.changes) {
      json fields = json::array();
      for (const auto& field : change.fields) {
        fields.push_back(
            {{"field", field.field}, {"before", field.before}, {"after", field.after}});
      }
      changes.push_back({{"file", change.file},
                         {"rule", change.rule},
                         {"change", word(change.kind)},
                         {"fields", fields}});
    }
    print_json({{"usage", command.usage},
                {"before", {{"ruleset", command.before}, {"rules", rules_json(diff.before)}}},
                {"after", {{"ruleset", command.after}, {"rules", rules_json(diff.after)}}},
                {"added_benchmarks", added},
                {"removed_benchmarks", removed},
                {"added_files", diff.added_files},
                {"removed_files", diff.removed_files},
                {"changes", changes}});
    return 0;
  }
  say("from: {}\nto:   {}\n", diff.before.text(), diff.after.text());
  if (!added.empty()) say("benchmarks added: {}\n", fmt::join(added, ", "));
  if (!removed.empty()) say("benchmarks removed: {}\n", fmt::join(removed, ", "));
  for (const std::string& file : diff.added_files) say("file added: {}\n", file);
  for (const std::string& file : diff.removed_files) say("file removed: {}\n", file);
  std::string file;
  for (const auto& change : diff.changes) {
    if (change.file != file) say("\n{}\n", file = change.file);
    say("  {} {}\n", change.rule, word(change.kind));
    for (const auto& field : change.fields) {
      if (!field.before.empty()) say("{}", marked('-', field.field, field.before));
      if (!field.after.empty()) say("{}", marked('+', field.field, field.after));
    }
  }
  if (diff.empty()) say("no rule differs\n");
  return 0;
}

void add_diff_command(CLI::App& rules, int& exit_code) {
  CLI::App* command = rules.add_subcommand(
      "diff", "Show what changed from one round's rules to another's, rule by rule");
  const auto options = std::make_shared<DiffCommand>();
  command->add_option("FROM", options->before, "The first round, such as 5.0.0")
      ->required()
      ->transform(compliance::full_ruleset);
  command->add_option("TO", options->after, "The second round, such as 5.1.0")
      ->required()
      ->transform(compliance::full_ruleset);
  command->add_option("--usage", options->usage, "training or hpc (default: training)")
      ->check(CLI::IsMember({"training", "hpc"}));
  command->add_option(
      "--rules", options->rules,
      "Directory of rule files, or built-in (default: built-in if --against is given, else "
      "the first of 'strata rules list' that has both rounds)");
  command->add_option("--against", options->against,
                      "Directory of the rule files of TO, or built-in (default: that of FROM)");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &exit_code] { exit_code = diff_rules(*options); });
}

// ---- Install

void add_install_command(CLI::App& rules, int& exit_code) {
  CLI::App* command = rules.add_subcommand(
      "install",
      "Download the official rules, mlperf-logging from PyPI, with curl or pip, check their pinned "
      "hash, and install them in $XDG_DATA_HOME/strata/rules or ~/.local/share/strata/rules");
  const auto options = std::make_shared<compliance::InstallOptions>();
  command->add_option("VERSION", options->version,
                      fmt::format("Version of mlperf-logging (default: {})",
                                  compliance::pinned_versions().front()));
  command->add_option(
      "--wheel", options->wheel,
      "Install this file, mlperf_logging-VERSION-py3-none-any.whl, and download nothing");
  command->add_option("--sha256", options->sha256,
                      "Hash of the wheel of a version that this program does not know");
  command->callback([options, &exit_code] {
    options->folder = compliance::user_rules_folder();
    const compliance::Installed installed = compliance::install_rules(*options);
    say("mlperf_logging {} {} {}\n", installed.version,
        installed.was_there ? "is already installed in" : "installed in",
        installed.package.string());
    exit_code = 0;
  });
}

}  // namespace

void add_rules_command(CLI::App& app, int& exit_code) {
  CLI::App* rules = app.add_subcommand(
      "rules", "List rules, show what changed between rounds, and install the official ones");
  rules->require_subcommand(1);
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* list = rules->add_subcommand(
      "list", "Rules built in and mlperf_logging packages found, with each round's hash");
  list->add_flag("--json", *as_json, "Print JSON");
  list->callback([as_json, &exit_code] { exit_code = list_rules(*as_json); });
  add_diff_command(*rules, exit_code);
  add_install_command(*rules, exit_code);
}

}  // namespace strata::cli

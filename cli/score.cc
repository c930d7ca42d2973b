#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/score_options.h"
#include "results/score_report.h"

namespace strata::cli {
namespace {

struct Options {
  ScoreInput input;
  std::string csv_file;
  std::string json_file;
  bool json = false;
};

// That of the first folder that has one.
void print_ruleset(const std::vector<results::Score>& scores) {
  for (const results::Score& score : scores) {
    if (score.ruleset.empty()) continue;
    fmt::print("ruleset: {} {} (from the {}; --ruleset overrides)\n", score.usage, score.ruleset,
               score.ground);
    return;
  }
}

// A line for each rule set that judged.
void print_rules(const std::vector<results::Score>& scores) {
  std::set<std::string> rules;
  for (const results::Score& score : scores) {
    if (const auto judged_by = score.rules(); !judged_by.source.empty())
      rules.insert(judged_by.text());
  }
  for (const std::string& one : rules) fmt::print("rules: {}\n", one);
  fmt::print("\n");
}

int score(const Options& options) {
  compliance::ListingProblems problems;
  const std::vector<results::Score> scores = read_scores(options.input, problems);
  if (!options.csv_file.empty()) write_output(options.csv_file, results::score_csv(scores));
  if (!options.json_file.empty()) write_output(options.json_file, results::score_json(scores));
  if (options.json && options.json_file.empty()) {
    fmt::print("{}", results::score_json(scores));
  } else {
    if (options.input.rules.score.ruleset.empty()) print_ruleset(scores);
    print_rules(scores);
    fmt::print("{}", results::score_table(scores));
  }
  refuse(problems);
  return 0;
}

}  // namespace

void add_score_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("score", "Score result folders: time to train per system and benchmark");
  const auto options = std::make_shared<Options>();
  add_score_options(*command, options->input);
  command->add_option("--csv", options->csv_file, "Also write the scores to this file as CSV");
  const auto json = command->add_option("--json", options->json_file,
                                        "Write the scores as JSON: to this file, or print them");
  json->expected(0, 1);
  command->callback([options, json, &exit_code] {
    options->json = json->count() > 0;
    exit_code = score(*options);
  });
}

}  // namespace strata::cli

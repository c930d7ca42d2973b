#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "results/score_report.h"

namespace strata::cli {
namespace {

struct Options {
  std::string directory;
  results::ScoreOptions score;
  std::string rules;
  std::string rcp;
  std::string csv_file;
  std::string json_file;
  bool json = false;
};

int score(Options& options) {
  options.score.rules = options.rules;
  options.score.rcp = options.rcp;
  std::vector<results::Score> scores;
  {
    Progress progress("scoring logs");
    options.score.progress = [&](size_t done, size_t total) { progress.update(done, total); };
    scores = results::score_directory(options.directory, options.score);
  }
  if (!options.csv_file.empty())
    write_file_atomically(options.csv_file, results::score_csv(scores));
  if (!options.json_file.empty())
    write_file_atomically(options.json_file, results::score_json(scores));
  if (options.json && options.json_file.empty()) {
    fmt::print("{}", results::score_json(scores));
    return 0;
  }
  if (options.score.ruleset.empty()) {
    const results::Score& first = scores.front();
    fmt::print("ruleset: {} {} (from the {}; --ruleset overrides)\n\n", first.usage, first.ruleset,
               first.ground);
  }
  fmt::print("{}", results::score_table(scores));
  return 0;
}

}  // namespace

void add_score_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("score", "Score result folders: time to train per system and benchmark");
  const auto options = std::make_shared<Options>();
  command
      ->add_option("DIR", options->directory,
                   "A round, a submitter, a system or a folder of result_N.txt")
      ->required();
  command->add_option("--ruleset", options->score.ruleset,
                      "Round whose rules apply, such as 2.1.0 (default: inferred)");
  command->add_option("--usage", options->score.usage, "training or hpc (default: inferred)");
  command->add_option("--rules", options->rules,
                      "Directory of rule files, such as the official checker's");
  command->add_option("--rcp", options->rcp,
                      "Directory of reference convergence points (default: BERT's, built in)");
  command->add_option("--threads", options->score.threads,
                      "Threads that read logs (default: one a core)");
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

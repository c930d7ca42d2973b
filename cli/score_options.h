// The options that say which scores are meant, for every command that reads some.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/listing.h"
#include "cli/progress.h"
#include "results/score.h"

namespace strata::cli {

// What runs are judged by.
struct ScoreRules {
  results::ScoreOptions score;
  std::string rules, rcp;
};

struct ScoreInput {
  std::string directory;
  ScoreRules rules;
};

// `rules` outlives the command's parsing.
inline void add_rule_options(CLI::App& command, ScoreRules& rules) {
  command.add_option("--ruleset", rules.score.ruleset,
                     "Round whose rules apply, such as 2.1.0 (default: inferred)");
  command.add_option("--usage", rules.score.usage, "training or hpc (default: inferred)");
  command.add_option("--rules", rules.rules,
                     "Directory of rule files, such as the official checker's");
  command.add_option("--rcp", rules.rcp,
                     "Directory of reference convergence points (default: BERT's, built in)");
  command.add_option("--threads", rules.score.threads,
                     "Threads that read logs (default: one a core)");
}

// `input` outlives the command's parsing.
inline void add_score_options(CLI::App& command, ScoreInput& input) {
  command
      .add_option("DIR", input.directory,
                  "A round, a submitter, a system or a folder of result_N.txt")
      ->required();
  add_rule_options(command, input.rules);
}

// Folders that cannot be listed are added to `problems`; `progress` and it outlive the options.
inline results::ScoreOptions score_options(const ScoreRules& rules, Progress& progress,
                                           compliance::ListingProblems& problems) {
  results::ScoreOptions options = rules.score;
  options.rules = rules.rules;
  options.rcp = rules.rcp;
  options.problems = &problems;
  options.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  return options;
}

// Throws Error where there is nothing to score.
inline std::vector<results::Score> read_scores(const ScoreInput& input,
                                               compliance::ListingProblems& problems) {
  Progress progress("scoring logs");
  return results::score_directory(input.directory, score_options(input.rules, progress, problems));
}

}  // namespace strata::cli

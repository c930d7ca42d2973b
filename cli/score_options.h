// The options that say which scores are meant, for every command that reads some.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/listing.h"
#include "cli/progress.h"
#include "results/score.h"

namespace strata::cli {

struct ScoreInput {
  std::string directory;
  results::ScoreOptions score;
  std::string rules, rcp;
};

// `input` outlives the command's parsing.
inline void add_score_options(CLI::App& command, ScoreInput& input) {
  command
      .add_option("DIR", input.directory,
                  "A round, a submitter, a system or a folder of result_N.txt")
      ->required();
  command.add_option("--ruleset", input.score.ruleset,
                     "Round whose rules apply, such as 2.1.0 (default: inferred)");
  command.add_option("--usage", input.score.usage, "training or hpc (default: inferred)");
  command.add_option("--rules", input.rules,
                     "Directory of rule files, such as the official checker's");
  command.add_option("--rcp", input.rcp,
                     "Directory of reference convergence points (default: BERT's, built in)");
  command.add_option("--threads", input.score.threads,
                     "Threads that read logs (default: one a core)");
}

// Folders that cannot be listed are added to `problems`. Throws Error where there is nothing to
// score.
inline std::vector<results::Score> read_scores(const ScoreInput& input,
                                               compliance::ListingProblems& problems) {
  Progress progress("scoring logs");
  results::ScoreOptions options = input.score;
  options.rules = input.rules;
  options.rcp = input.rcp;
  options.problems = &problems;
  options.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  return results::score_directory(input.directory, options);
}

}  // namespace strata::cli

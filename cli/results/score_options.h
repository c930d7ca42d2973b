// The options that select scores, for commands that read them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cli/options/rule_options.h"
#include "cli/output/listing.h"
#include "cli/output/progress.h"
#include "scoring/score.h"

namespace strata::cli {

// The rules that runs are judged by.
struct ScoreRules {
  scoring::ScoreOptions score;
  std::string rules, rcp;
};

struct ScoreInput {
  std::vector<std::string> directories;
  std::string benchmark;
  ScoreRules rules;
};

// `rules` must outlive the parsing.
inline void add_rule_options(CLI::App& command, ScoreRules& rules) {
  add_ruleset_options(command, rules.score.ruleset, rules.score.usage);
  add_rules_option(command, rules.rules);
  add_rcp_option(command, rules.rcp, true);
  command.add_option("--threads", rules.score.threads,
                     "Threads that read logs (default: one per core)");
}

// `input` must outlive the parsing.
inline void add_score_options(CLI::App& command, ScoreInput& input) {
  command
      .add_option(
          "DIR", input.directories,
          "Rounds, submitters, systems or folders of result_N.txt; at the end of a path '{A,B}' "
          "chooses submitters, and '{*}' all")
      ->required();
  command.add_option("--benchmark", input.benchmark, "Only this benchmark, such as bert");
  add_rule_options(command, input.rules);
}

// Returns the score options for these rules and points.
inline scoring::ScoreOptions judged_by(const ScoreRules& rules) {
  scoring::ScoreOptions options = rules.score;
  options.rules = directory_of(rules.rules);
  const PointFolders points = point_folders(rules.rules, rules.rcp);
  options.rcp = points.directory;
  options.other_rcp = points.others;
  options.find_installed = rules.rules != compliance::kBuiltIn;
  return options;
}

// Adds folders that cannot be listed to `problems`. `progress` and `problems` must outlive the
// options.
inline scoring::ScoreOptions score_options(const ScoreRules& rules, Progress& progress,
                                           compliance::ListingProblems& problems) {
  scoring::ScoreOptions options = judged_by(rules);
  options.problems = &problems;
  options.progress = [&](size_t done, size_t total) { progress.update(done, total); };
  return options;
}

// Keeps the items of one benchmark, or all if it is empty. Throws Error if none is left.
template <typename Items, typename BenchmarkOf>
void keep_benchmark(Items& items, const std::string& benchmark, const BenchmarkOf& benchmark_of) {
  if (benchmark.empty()) return;
  std::erase_if(items, [&](const auto& item) { return benchmark_of(item) != benchmark; });
  if (items.empty()) fail("none of these has runs of the benchmark '{}'", benchmark);
}

// Counts a folder in several of the directories once. Adds the reason to `problems` for a directory
// without scores. Throws Error if none has any.
inline std::vector<scoring::Score> read_scores(const ScoreInput& input,
                                               compliance::ListingProblems& problems) {
  Progress progress("scoring logs");
  const scoring::ScoreOptions options = score_options(input.rules, progress, problems);
  std::vector<std::string> directories;
  for (const std::string& given : input.directories) {
    const auto expanded = compliance::expand_submitters(given);
    directories.insert(directories.end(), expanded.begin(), expanded.end());
  }
  if (directories.size() == 1) {
    auto scores = scoring::score_directory(directories.front(), options);
    keep_benchmark(scores, input.benchmark, scoring::benchmark_of);
    return scores;
  }
  std::vector<scoring::Score> all;
  std::set<std::filesystem::path> known;
  std::vector<std::string> empty;
  for (const std::string& directory : directories) {
    try {
      for (scoring::Score& score : scoring::score_directory(directory, options)) {
        std::error_code ignored;
        if (known.insert(std::filesystem::weakly_canonical(score.folder.path, ignored)).second)
          all.push_back(std::move(score));
      }
    } catch (const Error& error) {
      empty.push_back(error.what());
    }
  }
  if (all.empty()) fail("{}", fmt::join(empty, "\nstrata: "));
  problems.insert(problems.end(), empty.begin(), empty.end());
  keep_benchmark(all, input.benchmark, scoring::benchmark_of);
  return all;
}

}  // namespace strata::cli

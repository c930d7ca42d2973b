// The rounds of MLPerf Training and HPC: their rulesets, dates and benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mllog/log_reader.h"

namespace strata::compliance {

// Returns the number of result files in a benchmark's submission, or 0 if unknown.
int result_file_count(std::string_view usage, std::string_view benchmark);
// Returns the benchmarks of a round ("2.1.0"), or none if the round is unknown.
const std::vector<std::string_view>& round_benchmarks(std::string_view usage,
                                                      std::string_view ruleset);
// Returns the rulesets of a usage, oldest first.
std::vector<std::string_view> known_rulesets(std::string_view usage);
// Returns "5.0.0" for "5.0", and anything else unchanged.
std::string full_ruleset(std::string ruleset);
// Returns -1, 0 or 1 if version `a` is below, equal to or above `b`.
int compare_versions(std::string_view a, std::string_view b);
// Returns how many of a benchmark's runs an olympic mean drops at either end, which is also how
// many may fail to converge: 4 for unet3d, else 1.
int dropped_runs(std::string_view benchmark);
// Returns the unit that a benchmark's convergence is counted in, "samples" or "epochs".
std::string convergence_unit(std::string_view benchmark);

// Returns "training" or "hpc", whichever has the benchmark, or an empty text.
std::string usage_of_benchmark(std::string_view benchmark);

// Returns the log's first submission_benchmark, or an empty text.
std::string logged_benchmark(const mllog::LogReader& log);

struct RulesetChoice {
  std::string usage;
  std::string ruleset;
  std::string ground;  // the reason, in words
};

// Chooses usage and ruleset for a log: by a round in its path (v2.1, training_results_v2.1), else
// by the date and benchmark in the log. Throws Error if neither helps.
RulesetChoice infer_ruleset(const mllog::LogReader& log, const std::string& usage,
                            const std::string& ruleset);
// Chooses by the path alone. The ruleset is empty if the path names no round.
RulesetChoice infer_ruleset_from_path(const std::filesystem::path& path, const std::string& usage);

}  // namespace strata::compliance

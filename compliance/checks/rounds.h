// The rounds of MLPerf Training and HPC: their rulesets, dates and benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "compliance/log/event_log.h"

namespace strata::compliance {

// Number of result files of a benchmark's submission; 0 where unknown.
int result_file_count(std::string_view usage, std::string_view benchmark);
// The benchmarks of a round ("2.1.0"); empty where the round is unknown.
const std::vector<std::string_view>& round_benchmarks(std::string_view usage,
                                                      std::string_view ruleset);
// The rulesets of a usage, oldest first.
std::vector<std::string_view> known_rulesets(std::string_view usage);
// "5.0.0" for "5.0"; anything else as it is.
std::string full_ruleset(std::string ruleset);
// -1, 0 or 1 as version `a` is below, equal to or above `b`.
int compare_versions(std::string_view a, std::string_view b);
// How many of a benchmark's runs are dropped at either end of an olympic mean, and may fail to
// converge: 4 for unet3d, else 1.
int dropped_runs(std::string_view benchmark);

// "training" or "hpc", whichever has had the benchmark; empty where neither has.
std::string usage_of_benchmark(std::string_view benchmark);

// What the log's first submission_benchmark event says; empty where there is none.
std::string logged_benchmark(const EventLog& log);

struct RulesetChoice {
  std::string usage;
  std::string ruleset;
  std::string ground;  // why, in words
};

// Chooses usage and ruleset for a log that comes without: from a round named in its path (v2.1,
// training_results_v2.1), else from the date and benchmark it logs. Throws Error where neither
// helps.
RulesetChoice infer_ruleset(const EventLog& log, const std::string& usage,
                            const std::string& ruleset);
// From the path alone; empty ruleset where the path names no round.
RulesetChoice infer_ruleset_from_path(const std::filesystem::path& path, const std::string& usage);

}  // namespace strata::compliance

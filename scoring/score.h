// Scores of result folders: time to train, from run_start to run_stop, averaged over the runs that
// count.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compliance/checks/check_log.h"
#include "compliance/checks/rcp.h"
#include "compliance/checks/run_settings.h"
#include "compliance/package/submission_tree.h"

namespace strata::scoring {

// Most broken rules that are listed per log. The official tool has no limit.
inline constexpr size_t kMostBrokenRules = 50;

struct RunScore {
  std::filesystem::path log;
  double time_to_train_ms = 0;            // 0 if it does not count
  std::optional<double> duration_ms;      // from run_start to run_stop, whether it counts or not
  std::optional<double> start_ms;         // time of run_start, since the epoch
  std::optional<int64_t> instance_scale;  // weak scaling: accelerators that train this model
  bool counts = false;                    // the log did not fail, reports success and has its times
  std::string not_judged;  // why there are no rules to judge it by; empty if there are
  std::string reason;      // why it does not count
  std::string odd_time;    // why the time of run_start is no date; empty if it is one
  std::vector<std::string> broken_rules;  // at most kMostBrokenRules
  std::string unread;                     // I/O error at one of its files
  compliance::RunConvergence convergence;
  compliance::RunSettings settings;
  std::optional<double> energy_joules;
  compliance::RuleIdentity rules;  // rules that judged the log
  std::string energy_problem;      // why there is no energy in spite of power logs
};

enum class Mean {
  kNone,     // too many runs do not count
  kOlympic,  // without the fastest and the slowest (unet3d: four of each)
  kPlain,    // mean of all, with fewer runs than a submission needs
};

// The fields of a system description that scores and plans need.
struct SystemFacts {
  std::string division;
  std::string system_name;
  std::string accelerator;
  std::string framework;
  std::optional<int64_t> nodes;
  std::optional<int64_t> accelerators;  // number in all nodes
  std::string processor;
  std::optional<int64_t> processors;  // number in all nodes
  std::string networking;             // network between nodes
  std::string problem;                // why the description gives no facts though it is there
};

// HPC's weak scaling: several models train at once.
struct WeakScore {
  size_t models = 0;                      // models that count
  std::optional<int64_t> instance_scale;  // accelerators per model, if logged
  double time_to_train_all_ms = 0;        // from the first run_start to the last run_stop
};

struct Score {
  compliance::ResultFolder folder;
  std::string usage;
  std::string ruleset;
  std::string ground;  // why this ruleset was chosen
  SystemFacts system;
  std::vector<RunScore> runs;
  int runs_needed = 0;  // runs of a submission; 0: unknown
  Mean mean = Mean::kNone;
  std::optional<double> unscaled_ms;  // the mean
  // The mean times the factor in the folder's scaling.json, if it has one.
  std::optional<double> time_to_train_ms;
  // The mean times the convergence check's factor. Empty if there are no reference points.
  std::optional<double> rcp_scaled_ms;
  std::optional<WeakScore> weak;  // with weak scaling, instead of the mean
  std::string weak_problem;       // why there is no weak-scaling score
  double committee_scaling = 1;   // the factor in scaling.json, or with `scale` the check's
  std::string scaling_problem;    // why scaling.json gives no factor
  std::string unread;             // I/O error at one of its files
  bool held_to_rcp = false;       // in the closed division, or its workload has points of its own
  compliance::RcpVerdict rcp;
  // The accuracy to which the runs were trained: the target that all logs name, or the benchmark's
  // in the round, unless the system is in the open division. Empty if the logs disagree.
  std::optional<double> target;
  std::vector<std::string> differing_settings;  // settings that differ between the runs
  std::optional<double> batch_size;
  std::optional<double> samples_to_converge;  // olympic or plain mean, in the benchmark's unit
  std::optional<double> energy_joules;
  std::optional<double> sequences_per_second;  // BERT: samples to converge over the unscaled time
  std::optional<double> sequences_per_second_per_accelerator;

  size_t counting_runs() const;
  // Returns the rules that judged its logs; empty if no log was read.
  compliance::RuleIdentity rules() const;
};

// Returns for each run whether it is in the mean: it counts, and the olympic mean keeps it.
std::vector<bool> runs_in_mean(const Score& score);

// Returns the benchmark that its runs name, or the folder's name.
std::string benchmark_of(const Score& score);

struct ScoreOptions {
  std::string usage;            // empty: inferred
  std::string ruleset;          // empty: inferred
  std::filesystem::path rules;  // empty: Strata's own
  std::filesystem::path rcp;    // empty: built in
  // Used if `rcp` has no points for a benchmark.
  std::vector<std::filesystem::path> other_rcp;
  // Uses the convergence check's factor instead of that in scaling.json, even if nothing says that
  // the system is in the closed division.
  bool scale = false;
  bool find_installed = false;  // uses installed packages for missing rules
  unsigned threads = 0;         // 0: one per core
  // Called after each log, from any thread.
  std::function<void(size_t done, size_t total)> progress;
  compliance::ListingProblems* problems = nullptr;  // receives folders and logs that cannot be read
};

// The times of run_start and run_stop, in ms since the epoch. As in the official summarizer, each
// is the last one seen when both have been seen.
struct RunTimes {
  std::optional<double> start_ms;
  std::optional<double> stop_ms;
};
RunTimes find_run_times(const mllog::LogReader& log);

// Reads systems/<system>.json. Missing fields are empty. `problem` gets the reason if it cannot be
// used, `unread` the message of an I/O error.
SystemFacts read_system_facts(const std::filesystem::path& description, std::string& problem,
                              std::string& unread);
// Reads the facts of the folder's system, or none if it is in no submission.
SystemFacts read_system_facts(const compliance::ResultFolder& folder, std::string& unread);

// Returns the mean of a folder's times; `failed` runs have been dropped already. Empty if too few
// are left.
std::optional<double> olympic_score(std::vector<double> times, size_t failed, int dropped);

// Scores every result folder under `directory`. A problem with a file becomes the reason of its run
// or folder. Throws Error if there is no folder, or no ruleset fits any.
std::vector<Score> score_directory(const std::filesystem::path& directory,
                                   const ScoreOptions& options = {});

}  // namespace strata::scoring

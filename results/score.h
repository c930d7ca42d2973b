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

namespace strata::results {

// Of one log, as a reader may want them; the official tool counts on.
inline constexpr size_t kMostBrokenRules = 50;

struct RunScore {
  std::filesystem::path log;
  double time_to_train_ms = 0;            // 0 where it does not count
  std::optional<double> duration_ms;      // from run_start to run_stop, whether it counts or not
  std::optional<double> start_ms;         // of run_start, since the epoch
  std::optional<int64_t> instance_scale;  // weak scaling: accelerators that train this model
  bool counts = false;                    // the log did not fail, says success and has its times
  std::string not_judged;  // why there are no rules to judge it by; empty where there are
  std::string reason;      // why it does not count
  std::string odd_time;    // why the time of run_start is no date; empty where it is one
  std::vector<std::string> broken_rules;  // by the log, at most kMostBrokenRules
  std::string unread;                     // a file of it that the system did not hand over, and why
  compliance::RunConvergence convergence;
  compliance::RunSettings settings;
  std::optional<double> energy_joules;
  compliance::RuleIdentity rules;  // whose rules judged the log
  std::string energy_problem;      // why there is none, though there are power logs
};

enum class Mean {
  kNone,     // too many runs do not count
  kOlympic,  // without the fastest and the slowest (unet3d: four of each)
  kPlain,    // fewer runs than a submission needs: the mean of all
};

// What a system description says, as far as scores and plans need it.
struct SystemFacts {
  std::string division;
  std::string system_name;
  std::string accelerator;
  std::string framework;
  std::optional<int64_t> nodes;
  std::optional<int64_t> accelerators;  // in all nodes
};

// HPC's weak scaling: models trained beside each other.
struct WeakScore {
  size_t models = 0;                      // that count
  std::optional<int64_t> instance_scale;  // accelerators a model, where logs say it
  double time_to_train_all_ms = 0;        // from the first run_start to the last run_stop
};

struct Score {
  compliance::ResultFolder folder;
  std::string usage;
  std::string ruleset;
  std::string ground;  // why this ruleset
  SystemFacts system;
  std::vector<RunScore> runs;
  int runs_needed = 0;  // of a submission; 0 where unknown
  Mean mean = Mean::kNone;
  std::optional<double> unscaled_ms;  // the mean
  std::optional<double>
      time_to_train_ms;  // the mean times the factor in the folder's scaling.json, if it has one
  std::optional<double> rcp_scaled_ms;  // the mean times the factor that the convergence check asks
                                        // for; empty where there is nothing to judge by
  std::optional<WeakScore> weak;        // of weak scaling, in place of the mean
  std::string weak_problem;             // why it has none
  double committee_scaling = 1;         // the factor in scaling.json, or with `scale` the check's
  std::string scaling_problem;          // why it has none, though there is a scaling.json
  std::string unread;                   // a file of the system that was not handed over, and why
  bool held_to_rcp = false;             // of the closed division
  compliance::RcpVerdict rcp;
  // The accuracy to which the runs were trained: the target that all logs name, else the
  // benchmark's in the round, unless the system is in the open division. Empty if the logs
  // disagree.
  std::optional<double> target;
  std::vector<std::string> differing_settings;  // settings that the runs do not have in common
  std::optional<double> batch_size;
  std::optional<double> samples_to_converge;  // olympic or plain mean, in the benchmark's unit
  std::optional<double> energy_joules;
  std::optional<double> sequences_per_second;  // BERT: samples to converge over the unscaled time
  std::optional<double> sequences_per_second_per_accelerator;

  size_t counting_runs() const;
  // Whose rules judged its logs; none where no log was read.
  compliance::RuleIdentity rules() const;
};

// Of each run, whether the mean is of it: it counts, and the olympic mean does not drop it.
std::vector<bool> runs_in_mean(const Score& score);

// That its runs name, else as its folder is called.
std::string benchmark_of(const Score& score);

struct ScoreOptions {
  std::string usage;            // empty: inferred
  std::string ruleset;          // empty: inferred
  std::filesystem::path rules;  // empty: Strata's own
  std::filesystem::path rcp;    // empty: built in
  // Asked where those have no points for a benchmark.
  std::vector<std::filesystem::path> other_rcp;
  // The convergence check's factor in place of that in scaling.json, also where nothing says that
  // the system is of the closed division.
  bool scale = false;
  bool find_installed = false;  // what built-in rules lack, in installed official packages
  unsigned threads = 0;         // 0: one a core
  std::function<void(size_t done, size_t total)>
      progress;                                     // called after each log, from any thread
  compliance::ListingProblems* problems = nullptr;  // takes folders and logs that cannot be read
};

// The times of run_start and run_stop, in ms since the epoch, as the official summarizer finds
// them: the last of each seen when both have been seen.
struct RunTimes {
  std::optional<double> start_ms;
  std::optional<double> stop_ms;
};
RunTimes find_run_times(const compliance::EventLog& log);

// Of systems/<system>.json. What it does not say is empty; `problem` says why it cannot be read,
// `unread` that the system did not hand it over.
SystemFacts read_system_facts(const std::filesystem::path& description, std::string& problem,
                              std::string& unread);
// Of the system that the folder is of; nothing where that lies in no submission.
SystemFacts read_system_facts(const compliance::ResultFolder& folder, std::string& unread);

// The mean that a folder's times give; `failed` runs have been dropped already. Empty where none
// can be given.
std::optional<double> olympic_score(std::vector<double> times, size_t failed, int dropped);

// Scores every result folder under `directory`. Whatever is wrong with one file is its run's or its
// folder's reason. Throws Error where there is no folder, or no ruleset fits any.
std::vector<Score> score_directory(const std::filesystem::path& directory,
                                   const ScoreOptions& options = {});

}  // namespace strata::results

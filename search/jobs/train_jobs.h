// Runs of a search as jobs of `strata train`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/timing.h"
#include "search/jobs/job.h"
#include "search/search.h"

namespace strata::search {

struct TrainJobOptions {
  std::filesystem::path folder;  // of the search; a run's results lie below it
  std::filesystem::path config;  // of all runs: the plan's configuration, with what is fixed
  std::filesystem::path strata;  // the program
  int slots = 1;                 // runs at a time
  // What starts the ranks, {ranks} and {slot} (from 0) filled in; empty: mpirun, or nothing where
  // there is one rank. Without one, slots share this machine's processors.
  std::vector<std::string> launcher;
  double limit = 0;    // seconds that a run may take, else it is ended and has failed; 0: any
  int inherited = -1;  // a descriptor that all runs keep open: RunsLock's; -1: none
};

class TrainJobs final : public TrialRunner {
 public:
  TrainJobs(const SearchPlan& plan, TrainJobOptions options);
  ~TrainJobs() override;  // ends the jobs, all at once

  int slots() const override { return options_.slots; }
  void start(const TrialRun& run, const Settings& settings, int64_t samples) override;
  std::optional<Ended> poll() override;
  std::string progress_of(const TrialRun& run) const override;

  // Of a run: its results, what it printed.
  std::filesystem::path folder_of(const TrialRun& run) const;
  // The whole command of a run in a slot.
  std::vector<std::string> command_of(const TrialRun& run, const Settings& settings,
                                      int64_t samples, int slot) const;

 private:
  struct UnderWay {
    TrialRun run;
    std::unique_ptr<Job> job;  // null: the slot is free
    Clock::time_point began;
  };
  std::vector<int> processors_of(int slot) const;
  RunResult result_of(const TrialRun& run, int exit_code) const;

  const SearchPlan& plan_;
  TrainJobOptions options_;
  std::vector<UnderWay> under_way_;
};

}  // namespace strata::search

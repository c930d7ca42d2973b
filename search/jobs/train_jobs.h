// Runs a search's trials as `strata train` jobs.
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
  std::filesystem::path folder;  // the search's folder; runs' results are below it
  std::filesystem::path config;  // the plan's configuration, with the fixed settings, for all runs
  std::filesystem::path strata;  // the program
  int slots = 1;                 // most runs at a time
  // The command that starts the ranks, with {ranks} and {slot} (from 0) filled in. If empty:
  // mpirun, or nothing for one rank. Without a launcher, slots divide this machine's processors.
  std::vector<std::string> launcher;
  double limit = 0;    // seconds until a run is ended and has failed; 0: unlimited
  int inherited = -1;  // RunsLock's descriptor, which all runs keep open; -1: none
};

class TrainJobs final : public TrialRunner {
 public:
  TrainJobs(const SearchPlan& plan, TrainJobOptions options);
  ~TrainJobs() override;  // ends all jobs at once

  int slots() const override { return options_.slots; }
  void start(const TrialRun& run, const Settings& settings, int64_t samples) override;
  std::optional<Ended> poll() override;
  std::string progress_of(const TrialRun& run) const override;

  // Returns the folder of a run's results and messages.
  std::filesystem::path folder_of(const TrialRun& run) const;
  // Returns the whole command of a run in a slot.
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

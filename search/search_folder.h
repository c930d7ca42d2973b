// The folder of a search: its plan, its runs, and in the end the winner.
#pragma once

#include <filesystem>

#include "harness/record/output_lock.h"
#include "search/trial_log.h"

namespace strata::search {

// Return the paths of files in a folder.
std::filesystem::path configuration_in(const std::filesystem::path& folder);
std::filesystem::path trial_log_in(const std::filesystem::path& folder);

class SearchFolder {
 public:
  // Makes the folder, or resumes the search in it. Throws Error with the differences if another
  // search uses it now, if it was begun with another plan or configuration, or if it has runs of
  // another plan.
  SearchFolder(std::filesystem::path folder, const SearchPlan& plan);

  // The configuration of all runs, as it was when the search began.
  std::filesystem::path configuration() const { return configuration_in(folder_); }
  // The search's plan. The file exists as long as the search.
  std::filesystem::path plan() const;
  std::filesystem::path winner() const { return folder_ / "winner.yaml"; }
  TrialLog& log() { return log_; }

  // Writes winner(): the configuration with the settings, below `comment`, which may have several
  // lines.
  void write_winner(const Settings& settings, const std::string& comment) const;

 private:
  std::filesystem::path folder_;
  harness::OutputLock lock_;
  TrialLog log_;
};

// Reads the part of a plan that runs_of_stage() needs. Throws Error if the folder has none.
SearchPlan read_plan(const std::filesystem::path& folder);

}  // namespace strata::search

// The folder of a search: what it was started with, its runs, and in the end the winner.
#pragma once

#include <filesystem>

#include "harness/record/output_lock.h"
#include "search/trial_log.h"

namespace strata::search {

// What is where in a folder.
std::filesystem::path configuration_in(const std::filesystem::path& folder);
std::filesystem::path trial_log_in(const std::filesystem::path& folder);

class SearchFolder {
 public:
  // Makes the folder, or goes on in it. Throws Error where another search goes on there now, and
  // where it was begun with another plan or configuration, or has runs of another: naming what
  // differs.
  SearchFolder(std::filesystem::path folder, const SearchPlan& plan);

  // Of all runs, as it was when the search began.
  std::filesystem::path configuration() const { return configuration_in(folder_); }
  // What it was started with: is there as long as the search.
  std::filesystem::path plan() const;
  std::filesystem::path winner() const { return folder_ / "winner.yaml"; }
  TrialLog& log() { return log_; }

  // Writes winner(): the configuration with the settings, and `comment` above, a line or several.
  void write_winner(const Settings& settings, const std::string& comment) const;

 private:
  std::filesystem::path folder_;
  harness::OutputLock lock_;
  TrialLog log_;
};

// What runs_of_stage() reads of its plan. Throws Error where the folder has none.
SearchPlan read_plan(const std::filesystem::path& folder);

}  // namespace strata::search

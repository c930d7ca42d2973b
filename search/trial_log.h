// The ended runs of a search in a file that outlives it, one line of JSON each.
#pragma once

#include <filesystem>
#include <map>
#include <optional>

#include "search/trial.h"

namespace strata::search {

class TrialLog {
 public:
  // Reads the file without changing it. Ignores a last line that a crash has cut; add() overwrites
  // it. Throws Error with file and line for anything else that is no run.
  explicit TrialLog(std::filesystem::path path);

  const std::map<TrialRun, FinishedRun>& runs() const { return runs_; }
  // Returns null if it has not ended.
  const FinishedRun* find(const TrialRun& run) const;
  // Appends a line and flushes it to disk. If the run is already there, the later line counts.
  void add(const FinishedRun& run);

 private:
  std::filesystem::path path_;
  std::optional<uintmax_t> cut_at_;  // begin of an incomplete line
  std::map<TrialRun, FinishedRun> runs_;
};

}  // namespace strata::search

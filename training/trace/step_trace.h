// Writes one JSON line per training step, for plots and for comparing runs.
#pragma once

#include <filesystem>

#include "harness/record/record_file.h"
#include "training/trace/step_result.h"

namespace strata::training {

// Leaves out a line if the disk is full, and names its step on standard error.
class StepTrace {
 public:
  // An empty path writes nothing. `resumed` keeps an interrupted run's file; call resume_after
  // next.
  explicit StepTrace(const std::filesystem::path& path, bool resumed = false);
  // Removes the lines of later steps. Starts a new file if there is none.
  void resume_after(int64_t step);

  // Appends the step's losses, times and other results: docs/overlap.md describes every field.
  void add(const StepResult& step);
  // Writes all lines to disk. Call before taking a checkpoint.
  void flush() { file_.flush(); }
  void finish() { file_.close(); }

 private:
  std::filesystem::path path_;
  harness::RecordFile file_;
};

}  // namespace strata::training

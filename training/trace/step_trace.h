// One JSON line a training step, for plots and for comparing runs.
#pragma once

#include <filesystem>

#include "harness/record/record_file.h"
#include "training/trace/step_result.h"

namespace strata::training {

// A line that the disk has no room for is left out whole, and named on standard error.
class StepTrace {
 public:
  // An empty path: nothing is written. `resumed`: the file of an interrupted run goes on with
  // resume_after.
  explicit StepTrace(const std::filesystem::path& path, bool resumed = false);
  // Cuts off the lines of later steps. Where there is no file, it begins here.
  void resume_after(int64_t step);

  // Appends step, losses, accuracy of the training batch, learning rate, tokens of the global
  // batch, the plan's imbalance, times, dropped layers: docs/overlap.md has every field.
  void add(const StepResult& step);
  // To disk, before a checkpoint that is taken after these lines.
  void flush() { file_.flush(); }
  void finish() { file_.close(); }

 private:
  std::filesystem::path path_;
  harness::RecordFile file_;
};

}  // namespace strata::training

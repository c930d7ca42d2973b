// One JSON line a training step, for plots and for comparing runs.
#pragma once

#include <filesystem>
#include <fstream>

#include "training/trainer.h"

namespace strata::training {

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
  // To disk: what a checkpoint follows on.
  void flush();
  // Throws Error where lines could not be written.
  void finish();

 private:
  void open(std::ios::openmode mode);

  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace strata::training

// One JSON line a training step, for plots and for comparing runs.
#pragma once

#include <filesystem>
#include <fstream>

#include "training/trainer.h"

namespace strata::training {

class StepTrace {
 public:
  // An empty path: nothing is written.
  explicit StepTrace(const std::filesystem::path& path);

  // Appends step, losses, accuracy of the training batch, learning rate, tokens and times.
  void add(const StepResult& step);
  // Throws Error where lines could not be written.
  void finish();

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace strata::training

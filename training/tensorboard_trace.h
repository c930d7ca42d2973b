// What a run's steps and evaluations come to, while it runs, for TensorBoard.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "training/trainer.h"

namespace strata::training {

class TensorBoardTrace {
 public:
  // A new event file in `folder`, which is made; an empty path: nothing is written. `resumed`: it
  // begins with resume_after.
  explicit TensorBoardTrace(std::filesystem::path folder, bool resumed = false);
  // What earlier files say of later steps counts no more.
  void resume_after(int64_t step);

  // Losses, accuracy of the training batch, learning rate and times, over steps.
  void add(const StepResult& step);
  void add_evaluation(int64_t step, double masked_lm_accuracy);
  // Throws Error where something could not be written.
  void finish();

 private:
  void open();
  void add(const std::string& tag, int64_t step, double value);

  std::filesystem::path folder_, path_;
  std::ofstream file_;
};

}  // namespace strata::training

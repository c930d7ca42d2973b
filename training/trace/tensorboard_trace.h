// What a run's steps and evaluations come to, while it runs, for TensorBoard.
#pragma once

#include <filesystem>
#include <string>

#include "harness/record/record_file.h"
#include "training/trace/step_result.h"

namespace strata::training {

// A step that the disk has no room for is left out whole, and named on standard error.
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
  void finish() { file_.close(); }

 private:
  void open();
  void write(std::string records, int64_t step);
  static void add(std::string& records, const std::string& tag, int64_t step, double value);

  std::filesystem::path folder_;
  harness::RecordFile file_;  // from the first record on
  std::string beginning_;     // goes before the next record
  bool has_warned_ = false;   // that the file cannot be made
};

}  // namespace strata::training

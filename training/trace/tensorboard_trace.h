// Writes a run's losses, times and accuracy for TensorBoard while it runs.
#pragma once

#include <filesystem>
#include <string>

#include "harness/record/record_file.h"
#include "training/trace/step_result.h"

namespace strata::training {

// Leaves out a step if the disk is full, and names it on standard error.
class TensorBoardTrace {
 public:
  // Makes `folder`; the first record makes an event file in it. An empty path writes nothing. With
  // `resumed`, call resume_after next.
  explicit TensorBoardTrace(std::filesystem::path folder, bool resumed = false);
  // Tells TensorBoard to ignore what earlier files say of later steps.
  void resume_after(int64_t step);

  // Appends losses, accuracy of the training batch, learning rate and times.
  void add(const StepResult& step);
  void add_evaluation(int64_t step, double masked_lm_accuracy);
  void finish() { file_.close(); }

 private:
  void open();
  void write(std::string records, int64_t step);
  static void add(std::string& records, const std::string& tag, int64_t step, double value);

  std::filesystem::path folder_;
  harness::RecordFile file_;  // not open before the first record
  std::string beginning_;     // header, written before the next record
  bool has_warned_ = false;   // whether it has warned that the file cannot be made
};

}  // namespace strata::training

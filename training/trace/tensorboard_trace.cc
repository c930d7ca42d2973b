#include "training/trace/tensorboard_trace.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/tensorboard/event_file.h"

namespace strata::training {
namespace {

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

TensorBoardTrace::TensorBoardTrace(std::filesystem::path folder, bool resumed)
    : folder_(std::move(folder)) {
  if (!folder_.empty() && !resumed) open();
}

void TensorBoardTrace::resume_after(int64_t step) {
  if (folder_.empty()) return;
  open();
  beginning_ += tensorboard_session(now_s(), step + 1);
}

void TensorBoardTrace::open() {
  std::error_code error;
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(folder_, error))) {
    fail("{}: is a link, and results are not written through links; move it away",
         folder_.string());
  }
  std::filesystem::create_directories(folder_, error);
  if (error) {
    fail("{}: cannot create this directory for TensorBoard: {}", folder_.string(), error.message());
  }
  beginning_ = tensorboard_header(now_s());
}

// Makes the file with its first record, so that a run that never begins leaves an empty folder.
// TensorBoard reads a folder's files in the order of their names.
void TensorBoardTrace::write(std::string records, int64_t step) {
  if (!file_.is_open()) {
    auto number = static_cast<int64_t>(now_s() * 1000);
    std::filesystem::path path;
    std::error_code ignored;
    do {
      path = folder_ / fmt::format("events.out.tfevents.{:014d}.strata", number++);
    } while (std::filesystem::exists(std::filesystem::symlink_status(path, ignored)));
    try {
      file_ = harness::RecordFile(path, harness::RecordFile::Begin::kEmpty);
    } catch (const Error& error) {  // the disk may have room at the next step
      if (!has_warned_) print_to_stderr("\nstrata: step {} is missing: {}\n", step, error.what());
      has_warned_ = true;
      return;
    }
  }
  if (file_.append(beginning_ + records, step)) beginning_.clear();
}

void TensorBoardTrace::add(std::string& records, const std::string& tag, int64_t step,
                           double value) {
  records += tensorboard_record({tag, step, now_s(), static_cast<float>(value)});
}

void TensorBoardTrace::add(const StepResult& step) {
  if (folder_.empty()) return;
  std::string records;
  const auto put = [&](const char* tag, double value) { add(records, tag, step.step, value); };
  if (step.losses) {
    put("training/masked_lm_loss", step.losses->masked_lm.mean());
    put("training/next_sentence_loss", step.losses->next_sentence.mean());
    put("training/masked_lm_accuracy", step.losses->masked_lm_accuracy());
    if (step.losses->standardization.count > 0) {
      put("training/standardization_loss", step.losses->standardization.mean());
    }
  }
  put("training/learning_rate", step.learning_rate);
  if (step.gradient_norm) put("training/gradient_norm", *step.gradient_norm);
  if (step.loss_scale) put("training/loss_scale", *step.loss_scale);
  put("step/seconds", step.seconds);
  put("step/data_seconds", step.data_seconds);
  if (step.reduce.measured) {
    put("step/exposed_communication_seconds", step.reduce.exposed_communication_seconds);
  }
  put("step/imbalance", step.imbalance);
  write(std::move(records), step.step);
}

void TensorBoardTrace::add_evaluation(int64_t step, double masked_lm_accuracy) {
  if (folder_.empty()) return;
  std::string records;
  add(records, "evaluation/masked_lm_accuracy", step, masked_lm_accuracy);
  write(std::move(records), step);
}

}  // namespace strata::training

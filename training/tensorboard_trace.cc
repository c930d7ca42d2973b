#include "training/tensorboard_trace.h"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>

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
  file_ << tensorboard_session(now_s(), step + 1) << std::flush;
}

// TensorBoard reads a folder's files in the order of their names.
void TensorBoardTrace::open() {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    fail("{}: cannot make this directory for TensorBoard: {}", folder_.string(), error.message());
  }
  const double now = now_s();
  auto number = static_cast<int64_t>(now * 1000);
  do {
    path_ = folder_ / fmt::format("events.out.tfevents.{:014d}.strata", number++);
  } while (std::filesystem::exists(path_, error));
  errno = 0;
  file_.open(path_, std::ios::out | std::ios::binary | std::ios::trunc);
  if (!file_) fail("{}: cannot write for TensorBoard: {}", path_.string(), std::strerror(errno));
  file_ << tensorboard_header(now) << std::flush;
}

void TensorBoardTrace::add(const std::string& tag, int64_t step, double value) {
  file_ << tensorboard_record({tag, step, now_s(), static_cast<float>(value)});
}

void TensorBoardTrace::add(const StepResult& step) {
  if (folder_.empty()) return;
  const auto put = [&](const char* tag, double value) { add(tag, step.step, value); };
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
  put("step/exposed_communication_seconds", step.reduce.exposed_communication_seconds);
  put("step/imbalance", step.imbalance);
  file_ << std::flush;
}

void TensorBoardTrace::add_evaluation(int64_t step, double masked_lm_accuracy) {
  if (folder_.empty()) return;
  add("evaluation/masked_lm_accuracy", step, masked_lm_accuracy);
  file_ << std::flush;
}

void TensorBoardTrace::finish() {
  if (folder_.empty()) return;
  file_.close();
  if (!file_) {
    fail("{}: could not be written whole for TensorBoard; is the disk full?", path_.string());
  }
}

}  // namespace strata::training

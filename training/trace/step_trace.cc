#include "training/trace/step_trace.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/json.h"

namespace strata::training {

StepTrace::StepTrace(const std::filesystem::path& path, bool resumed) : path_(path) {
  if (!path_.empty() && !resumed)
    file_ = harness::RecordFile(path_, harness::RecordFile::Begin::kEmpty);
}

void StepTrace::resume_after(int64_t step) {
  if (path_.empty()) return;
  std::error_code ignored;
  const auto status = std::filesystem::symlink_status(path_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_symlink(status)) {
    std::istringstream lines(read_file(path_));
    std::string kept;
    for (std::string line; read_line(lines, line);) {
      const auto json = nlohmann::json::parse(line, nullptr, false);  // the last may be torn
      const auto number = json.is_object() ? json.find("step") : json.end();
      if (number != json.end() && number->is_number_integer() && *number <= step) {
        kept += line + '\n';
      }
    }
    write_file_atomically(path_, kept);
  }
  file_ = harness::RecordFile(path_, harness::RecordFile::Begin::kAtEnd);
}

void StepTrace::add(const StepResult& step) {
  if (path_.empty()) return;
  nlohmann::ordered_json line = {{"step", step.step}};
  if (step.losses) {
    line.update({{"masked_lm_loss", step.losses->masked_lm.mean()},
                 {"next_sentence_loss", step.losses->next_sentence.mean()},
                 {"masked_lm_accuracy", step.losses->masked_lm_accuracy()}});
    if (step.losses->standardization.count > 0) {
      line["standardization_loss"] = step.losses->standardization.mean();
    }
  }
  line.update({{"learning_rate", step.learning_rate},
               {"tokens", step.global_tokens},
               {"imbalance", step.imbalance},
               {"seconds", step.seconds},
               {"data_seconds", step.data_seconds}});
  if (step.reduce.measured) {
    line.update({{"communication_seconds", step.reduce.communication_seconds},
                 {"exposed_communication_seconds", step.reduce.exposed_communication_seconds},
                 {"update_seconds", step.reduce.update_seconds}});
  }
  if (step.gradient_norm) line["gradient_norm"] = *step.gradient_norm;
  if (step.dropped_layers) line["dropped_layers"] = *step.dropped_layers;
  if (step.loss_scale) line.update({{"loss_scale", *step.loss_scale}, {"skipped", step.skipped}});
  file_.append(json_text(line) + '\n', step.step);
}

}  // namespace strata::training

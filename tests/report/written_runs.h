// Writes result folders for reports.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/compliance/bert_log.h"

namespace strata::report {

// Returns a log of batch 448 that evaluates at these minutes after run_start, and ends with the
// last.
inline std::string log_of(const std::vector<std::pair<double, double>>& accuracies,
                          bool ends = true, const std::string& status = "success") {
  constexpr double kMinute = 60'000;
  strata::testing::BertLog log = strata::testing::BertLog::passing();
  log.set("global_batch_size", "448");
  const double start = log.at("run_start").time_ms;
  log.without("eval_accuracy").without("eval_start").without("eval_stop").without("run_stop");
  log.at("block_start").time_ms = log.at("epoch_start").time_ms = start + 1;
  double end = start + 1;
  for (const auto& [minutes, accuracy] : accuracies) {
    end = start + minutes * kMinute;
    const std::string samples = "\"epoch_num\": " + std::to_string(static_cast<int>(1e6 * minutes));
    log.append({"eval_start", "null", samples, end - 500});
    log.append({"eval_stop", "null", samples, end});
    log.append({"eval_accuracy", std::to_string(accuracy), samples, end});
  }
  if (ends) log.append({"run_stop", "null", "\"status\": \"" + status + "\"", end});
  return log.text();
}

// Writes a run to Strata's tree of submitter, system and runs.
inline void write_run(const strata::testing::TemporaryFolder& folder, const std::string& submitter,
                      const std::string& system, int number, const std::string& log,
                      const std::string& benchmark = "bert") {
  folder.write(submitter + "/results/" + system + "/" + benchmark + "/result_" +
                   std::to_string(number) + ".txt",
               log);
}
inline void write_system(const strata::testing::TemporaryFolder& folder,
                         const std::string& submitter, const std::string& system,
                         const std::string& accelerator = "GPU", int accelerators = 8) {
  folder.write(submitter + "/systems/" + system + ".json",
               R"({"division": "open", "system_name": "S", "number_of_nodes": 1, )"
               R"("accelerators_per_node": )" +
                   std::to_string(accelerators) + R"(, "accelerator_model_name": ")" + accelerator +
                   "\"}");
}

}  // namespace strata::report

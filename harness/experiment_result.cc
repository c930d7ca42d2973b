#include "harness/experiment_result.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "harness/log_keys.h"

namespace strata::harness {
namespace {

constexpr std::string_view kPrefix = ":::MLLOG ";

}  // namespace

ExperimentResult read_experiment_result(const std::filesystem::path& log, int experiment) {
  ExperimentResult result{.experiment = experiment, .log = log};
  int64_t global_batch_size = 0, start_ms = 0;
  bool ended = false;
  std::istringstream lines(read_file(log));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kPrefix)) continue;
    const auto event = nlohmann::json::parse(line.substr(kPrefix.size()), nullptr, false);
    if (event.is_discarded()) continue;  // cut off: what is missing tells
    try {
      const auto& key = event.at("key").get_ref<const std::string&>();
      const nlohmann::json &value = event.at("value"), &metadata = event.at("metadata");
      if (key == log_keys::kSeed) result.seed = value;
      if (key == log_keys::kGlobalBatchSize) global_batch_size = value;
      if (key == log_keys::kEvalAccuracy) result.accuracy = value;
      if (key == log_keys::kRunStart) start_ms = event.at("time_ms");
      // An interrupted run does not say after how many samples.
      if (key == log_keys::kRunStop && metadata.contains(log_keys::kEpochNum)) {
        ended = true;
        result.samples = metadata.at(log_keys::kEpochNum);
        result.reached_target = metadata.at(log_keys::kStatus) == log_keys::kSuccess;
        result.seconds = 1e-3 * static_cast<double>(event.at("time_ms").get<int64_t>() - start_ms);
      }
    } catch (const nlohmann::json::exception& error) {
      fail("{}: cannot be read as a log of this program ({}); move it away", log.string(),
           error.what());
    }
  }
  if (!ended) {
    fail("{}: its run was interrupted, or is still on; move it away and continue again",
         log.string());
  }
  if (global_batch_size > 0) result.steps = result.samples / global_batch_size;
  return result;
}

}  // namespace strata::harness

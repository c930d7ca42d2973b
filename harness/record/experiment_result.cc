#include "harness/record/experiment_result.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "harness/record/run_log.h"
#include "mllog/log_reader.h"

namespace strata::harness {
namespace {

using nlohmann::json;

[[noreturn]] void fail_to_read(const std::filesystem::path& log, std::string_view reason) {
  fail("{}: cannot be read as a log of this program ({}); move it away", log.string(), reason);
}

}  // namespace

std::optional<ExperimentResult> read_experiment_result(const std::filesystem::path& log,
                                                       int experiment) {
  ExperimentResult result{.experiment = experiment, .log = log};
  const mllog::LogReader events(log, mllog::LogFormat::kMllog);
  if (events.event_count() == 0 && events.bad_line_count() > 0) {
    fail_to_read(log, events.bad_lines().front().reason);
  }
  int64_t global_batch_size = 0;
  double start_ms = 0;
  bool ended = false;
  try {
    events.visit([&](const mllog::Event& event) {
      if (event.key == log_keys::kSeed) result.seed = json::parse(event.value);
      if (event.key == log_keys::kGlobalBatchSize) global_batch_size = json::parse(event.value);
      if (event.key == log_keys::kEvalAccuracy) result.accuracy = json::parse(event.value);
      if (event.key == log_keys::kRunStart) start_ms = event.time_ms;
      if (event.key != log_keys::kRunStop) return true;
      const json metadata = json::parse(event.metadata);
      // An interrupted run does not log its number of samples.
      ended = metadata.contains(log_keys::kEpochNum);
      if (!ended) return true;
      result.samples = metadata.at(log_keys::kEpochNum);
      result.reached_target = metadata.at(log_keys::kStatus) == log_keys::kSuccess;
      result.seconds = 1e-3 * (event.time_ms - start_ms);
      return true;
    });
  } catch (const json::exception& error) {
    fail_to_read(log, error.what());
  }
  if (!ended) return std::nullopt;
  if (global_batch_size > 0) result.steps = result.samples / global_batch_size;
  return result;
}

}  // namespace strata::harness

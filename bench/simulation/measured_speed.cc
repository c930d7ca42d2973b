#include "bench/simulation/measured_speed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "base/timing.h"
#include "bert/parameters/parameters.h"
#include "scoring/plots/timeline_trace.h"

namespace strata::bench {
namespace {

using nlohmann::json;

// The JSON output of a command.
class Output {
 public:
  Output(const std::filesystem::path& path, std::string command)
      : file_(path.string()),
        command_(std::move(command)),
        root_(json::parse(read_file(path), nullptr, false)) {
    if (!root_.is_object())
      fail("{}: is not a JSON object; write the file with {}", file_, command_);
  }

  const json& root() const { return root_; }
  const std::string& file() const { return file_; }

  double number(const json& object, const char* key) const {
    const auto found = object.find(key);
    const double value = found != object.end() && found->is_number() ? found->get<double>() : -1;
    if (!(value >= 0) || !std::isfinite(value)) {
      fail("{}: '{}' must be a number of at least 0; write the file with {}", file_, key, command_);
    }
    return value;
  }
  const json& object(const json& in, const char* key) const {
    const auto found = in.find(key);
    if (found == in.end() || !found->is_object()) {
      fail("{}: has no '{}'; write the file with {}", file_, key, command_);
    }
    return *found;
  }
  // Returns amount / seconds, if a device can have that speed. `key` gave the seconds.
  double speed(double amount, double seconds, const char* key) const {
    constexpr double kSlowest = 1e3, kFastest = 1e18;
    const double speed = amount / seconds;
    if (speed >= kSlowest && speed <= kFastest) return speed;
    fail(
        "{}: '{}' of {} s gives a speed of {:.3g} per second, which no device has; write the file "
        "with {}",
        file_, key, seconds, speed, command_);
  }

 private:
  std::string file_, command_;
  json root_;
};

}  // namespace

DeviceSpeed read_measured_speed(const std::filesystem::path& path, const bert::BertConfig& model,
                                const UpdateBytes& bytes) {
  const Output step(path, "'strata bench step --json' and device.graphs false");
  if (step.number(step.root(), "ranks") != 1) {
    fail("{}: was measured on several ranks; measure on a single rank, which has no communication",
         step.file());
  }
  const json& seconds = step.object(step.root(), "seconds");
  const double computing = step.number(seconds, "forward") + step.number(seconds, "backward");
  const double after = step.number(seconds, "reduce_and_update_after_backward");
  const double update = step.number(seconds, "update");
  const double flops = step.number(step.root(), "model_flops_per_step");
  const auto gradients = kGradientBytes * static_cast<double>(bert::ParameterLayout(model).size);
  const double measured = step.number(step.object(step.root(), "parameter_bytes"), "gradients");
  if (measured != gradients) {
    fail("{}: was measured with another model, whose gradients take {} bytes instead of {}",
         step.file(), measured, gradients);
  }
  const double moved = gradients / kGradientBytes * (bytes.update + bytes.finish);
  return {.flops_per_second = step.speed(flops, computing, "forward and backward"),
          .bytes_per_second = update > 0 ? step.speed(moved, update, "update") : 0,
          .step_seconds = std::max(0.0, step.number(seconds, "step") - computing - after)};
}

DeviceSpeed read_fitted_speed(const std::filesystem::path& path, const bert::BertConfig& model) {
  const Output plan(path, "'strata plan --json'");
  const auto plans = plan.root().find("plans");
  if (plans == plan.root().end() || !plans->is_array() || plans->empty()) {
    fail("{}: has no 'plans'; write the file with 'strata plan --json'", plan.file());
  }
  if (plans->size() > 1) {
    fail("{}: has {} plans; write one with 'strata plan --json' and --fit or --measured",
         plan.file(), plans->size());
  }
  const json& calibration = plan.object(plans->front(), "calibration");
  const double seconds = plan.number(calibration, "seconds_a_sample");
  constexpr int64_t kSamples = 4096;
  const std::vector<int32_t> lengths = typical_lengths(
      kSamples, static_cast<int32_t>(std::min(model.max_positions, kLongestSample)));
  const double flops = block_flops(model, lengths).all(model);
  return {.flops_per_second =
              plan.speed(flops / static_cast<double>(lengths.size()), seconds, "seconds_a_sample"),
          .step_seconds = plan.number(calibration, "seconds_a_step")};
}

std::map<std::string, double> read_durations(const std::filesystem::path& path) {
  std::map<std::string, std::vector<double>> seconds;
  for (const auto& span : scoring::read_timeline(path).spans) {
    seconds[span.name].push_back(1e-3 * (span.end_ms - span.begin_ms));
  }
  std::map<std::string, double> medians;
  for (auto& [name, values] : seconds) medians[name] = median(std::move(values));
  return medians;
}

}  // namespace strata::bench

#include "scoring/energy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "compliance/language/values/rule_value.h"
#include "compliance/package/submission_tree.h"

namespace strata::scoring {
namespace {

using mllog::Event;
using mllog::LogReader;

struct Sample {
  double time_ms;
  std::string key;
  double value;
};

double number(const LogReader& log, const Event& event) {
  compliance::Heap heap;
  try {
    return compliance::to_double(compliance::value_from_json(event.value, heap), event.key);
  } catch (const std::runtime_error& error) {
    fail("{}:{}: {}", log.path().string(), log.line_number(event.offset), error.what());
  }
}

// Returns the power events with their values.
std::vector<Sample> read_samples(const LogReader& log) {
  std::vector<Sample> samples;
  log.visit([&](const Event& event) {
    const bool valued = event.key == "power_reading" || event.key == "conversion_eff" ||
                        event.key == "interconnect_power_est";
    if (valued || event.key == "power_measurement_start" || event.key == "power_measurement_stop") {
      samples.push_back({event.time_ms, std::string(event.key), valued ? number(log, event) : 0});
    }
    return true;
  });
  return samples;
}

}  // namespace

double node_energy(const LogReader& log, double time_to_train_ms) {
  std::vector<Sample> samples = read_samples(log);
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.time_ms < b.time_ms; });
  std::optional<double> start;
  std::optional<double> stop;
  double previous = 0;
  double last_reading = 0;
  double watt_ms = 0;
  double efficiency = 1;
  for (const Sample& sample : samples) {
    if (sample.key == "power_measurement_start") {
      start = previous = sample.time_ms;
    } else if (sample.key == "power_reading" && start && !stop) {
      watt_ms += sample.value * (sample.time_ms - previous);
      previous = sample.time_ms;
      last_reading = std::max(last_reading, sample.time_ms);
    } else if (sample.key == "power_measurement_stop") {
      stop = sample.time_ms;
    } else if (sample.key == "conversion_eff") {
      efficiency = sample.value;
    }
  }
  if (!start) fail("{}: holds no power_measurement_start", log.path().string());
  const double measured_ms = stop.value_or(last_reading) - *start;
  if (!(measured_ms > 0)) fail("{}: the power measurement has no duration", log.path().string());
  return efficiency * watt_ms * time_to_train_ms / measured_ms / 1000;
}

double switch_energy(const LogReader& log, double time_to_train_ms) {
  double efficiency = 1;
  for (const Sample& sample : read_samples(log)) {
    if (sample.key == "conversion_eff") efficiency = sample.value;
    if (sample.key == "interconnect_power_est")
      return efficiency * sample.value * time_to_train_ms / 1000;
  }
  return 0;
}

std::optional<double> run_energy(const std::filesystem::path& power_folder,
                                 double time_to_train_ms) {
  double joules = 0;
  bool any_node = false;
  for (const auto& file : compliance::files(power_folder)) {
    const std::string name = file.filename().string();
    if (!name.ends_with(".txt")) continue;
    const bool node = name.starts_with("node_");
    if (!node && !name.starts_with("sw_")) continue;
    const LogReader log(file, mllog::LogFormat::kMllog);
    joules += node ? node_energy(log, time_to_train_ms) : switch_energy(log, time_to_train_ms);
    any_node |= node;
  }
  return any_node ? std::optional<double>(joules) : std::nullopt;
}

}  // namespace strata::scoring

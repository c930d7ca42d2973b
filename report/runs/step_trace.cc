#include "report/runs/step_trace.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/timing.h"
#include "drawing/axis.h"

namespace strata::report {
namespace {

using nlohmann::json;

constexpr uint64_t kMostTraceBytes = uint64_t{1} << 30;

std::optional<double> number(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number()) return std::nullopt;
  const double value = *found;
  return std::abs(value) <= drawing::kMostShown ? std::optional(value) : std::nullopt;
}

std::optional<TracedStep> step_of(const std::string& text) {
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  const auto step = number(line, "step"), seconds = number(line, "seconds");
  constexpr double kMostSteps = 1e15;
  if (!step || !seconds || *step < 0 || *step > kMostSteps || *seconds < 0) return std::nullopt;
  const auto measured = [&](const char* key) {
    const auto value = number(line, key);
    return value ? std::optional(std::max(0.0, *value)) : std::nullopt;
  };
  const auto time = [&](const char* key) { return measured(key).value_or(0); };
  return TracedStep{.step = static_cast<int64_t>(*step),
                    .seconds = *seconds,
                    .data = time("data_seconds"),
                    .communication = measured("communication_seconds"),
                    .exposed = measured("exposed_communication_seconds"),
                    .update = measured("update_seconds"),
                    .tokens = time("tokens"),
                    .imbalance = number(line, "imbalance"),
                    .loss = number(line, "masked_lm_loss")};
}

}  // namespace

StepTrace parse_step_trace(const std::string& text) {
  StepTrace trace;
  std::istringstream lines(text);
  for (std::string line; read_line(lines, line);) {
    if (const auto step = step_of(line)) {
      trace.steps.push_back(*step);
    } else {
      ++trace.other_lines;
    }
  }
  return trace;
}

StepTrace read_step_trace_of(const std::filesystem::path& log) {
  std::filesystem::path path = log;
  path.replace_extension(".steps.jsonl");
  if (is_missing(path)) return {};
  return parse_step_trace(read_file(path, kMostTraceBytes));
}

std::optional<StepPhases> phases_of(const std::vector<TracedStep>& steps) {
  if (steps.empty()) return std::nullopt;
  const size_t first = steps.size() > 1 ? 1 : 0;
  const auto middle_measured = [&](auto value) -> std::optional<double> {
    std::vector<double> values;
    for (size_t i = first; i < steps.size(); ++i) {
      if (const std::optional<double> measured = value(steps[i])) values.push_back(*measured);
    }
    return values.empty() ? std::nullopt : std::optional(median(std::move(values)));
  };
  const auto middle = [&](auto value) { return middle_measured(value).value_or(0); };
  StepPhases phases;
  phases.step = middle([](const TracedStep& s) { return s.seconds; });
  phases.data = middle([](const TracedStep& s) { return s.data; });
  phases.exposed = middle_measured([](const TracedStep& s) { return s.exposed; });
  phases.update = middle_measured([](const TracedStep& s) { return s.update; });
  // The update hides behind other buckets' communication. Its exposed part is not known.
  phases.compute = std::max(0.0, phases.step - phases.data - phases.exposed.value_or(0));
  const double communication = middle([](const TracedStep& s) { return s.communication; });
  if (communication > 0 && phases.exposed) {
    phases.hidden_share = std::clamp(1 - *phases.exposed / communication, 0.0, 1.0);
  }
  std::vector<double> imbalances;
  for (const TracedStep& step : steps) {
    if (step.imbalance) imbalances.push_back(*step.imbalance);
  }
  if (!imbalances.empty()) phases.imbalance = median(std::move(imbalances));
  double tokens = 0, seconds = 0;
  for (size_t i = first; i < steps.size(); ++i) {
    tokens += steps[i].tokens;
    seconds += steps[i].seconds;
  }
  if (seconds > 0) phases.tokens_per_second = tokens / seconds;
  return phases;
}

}  // namespace strata::report

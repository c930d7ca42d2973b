#include "plan/report/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/json_version.h"

namespace strata::plan {
namespace {

using nlohmann::json;

class PlanReader {
 public:
  explicit PlanReader(std::string name) : name_(std::move(name)) {}

  std::vector<PlannedRun> read(std::string_view text) {
    const json plan = json::parse(text, nullptr, false);
    if (!plan.is_object()) refuse("is not a JSON object");
    if (number(plan, "version") != kJsonVersion) refuse("has another version");
    std::vector<PlannedRun> runs;
    for (const json& each : list(plan, "plans")) {
      const size_t first = runs.size();
      for (const json& prediction : list(each, "predictions")) runs.push_back(run_of(prediction));
      if (const auto search = each.find("search"); search != each.end()) {
        for (const char* found : {"fastest", "cheapest"}) {
          runs.push_back(run_of(field(*search, found)));
          runs.back().found = found;
        }
      }
      for (const json& checked : list(each, "checked")) {
        runs.push_back(run_of(field(checked, "prediction")));
        PlannedRun& planned = runs.back();
        planned.published_milliseconds =
            1e3 * number(checked, "published_seconds_between_evaluations_a_step");
        planned.published_minutes = number(checked, "published_seconds") / 60;
        planned.name = text_of(checked, "name");
        planned.extrapolation = text_of(checked, "extrapolation");
      }
      const std::vector<std::string> names = names_of_measured(each);
      for (size_t i = first; i < runs.size(); ++i) runs[i].calibrated_from = names;
    }
    if (runs.empty()) refuse("holds no predictions");
    return runs;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    fail("{}: {}; write the file with 'strata plan --json'", name_, reason);
  }

  const json& field(const json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key)) refuse(fmt::format("has no \"{}\"", key));
    return object.at(key);
  }

  double number(const json& object, const char* key) const {
    const json& value = field(object, key);
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    constexpr double kMost = 1e30;
    if (!(number >= 0) || number > kMost) {
      refuse(fmt::format("\"{}\" is not a number from 0 to {}", key, kMost));
    }
    return number;
  }

  std::string text_of(const json& object, const char* key) const {
    const json& value = field(object, key);
    if (!value.is_string()) refuse(fmt::format("\"{}\" is not a text", key));
    return value;
  }

  const json& list(const json& object, const char* key) const {
    const json& value = field(object, key);
    if (!value.is_array()) refuse(fmt::format("\"{}\" is not a list", key));
    return value;
  }

  // Returns the steps that a plan was calibrated from.
  std::vector<std::string> names_of_measured(const json& plan) const {
    std::vector<std::string> names;
    const auto measured = plan.find("measured");
    if (measured == plan.end() || !measured->is_array()) return names;
    for (const json& step : *measured) names.push_back(text_of(step, "name"));
    return names;
  }

  PlannedRun run_of(const json& prediction) const {
    PlannedRun planned;
    planned.ranks = number(prediction, "ranks");
    planned.batch = number(prediction, "batch");
    const json& step = field(prediction, "step_seconds");
    for (size_t i = 0; i < kStepTerms.size(); ++i)
      planned.milliseconds[i] = 1e3 * number(step, kStepTerms[i]);
    const json& run = field(prediction, "run");
    planned.minutes = number(run, "seconds") / 60;
    planned.low = number(run, "low_seconds") / 60;
    planned.high = number(run, "high_seconds") / 60;
    if (prediction.contains("extrapolation")) {  // earlier versions left it out
      planned.extrapolation = text_of(prediction, "extrapolation");
    }
    return planned;
  }

  std::string name_;
};

}  // namespace

std::vector<PlannedRun> parse_plan_file(std::string_view text, const std::string& name) {
  return PlanReader(name).read(text);
}

std::vector<PlannedRun> read_plan_file(const std::filesystem::path& path) {
  return parse_plan_file(read_file(path, kMostPlanBytes), path.string());
}

}  // namespace strata::plan

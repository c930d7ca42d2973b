#include "search/trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/text/json.h"

namespace strata::search {
namespace {

using nlohmann::ordered_json;

constexpr Ending kEndings[] = {Ending::kReached, Ending::kMissed, Ending::kFailed};

int stage_of(const std::string& name) {
  if (name == "finals") return kFinals;
  const std::string rung = "rung ";
  if (!name.starts_with(rung)) throw std::domain_error("stage");
  int stage = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + rung.size(), end, stage);
  if (error != std::errc() || stop != end || stage < 0 || stage >= kFinals) {
    throw std::domain_error("stage");
  }
  return stage;
}

double number_in(const ordered_json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value)) throw std::domain_error(key);
  return value;
}

}  // namespace

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::kReached:
      return "reached";
    case Ending::kMissed:
      return "missed";
    case Ending::kFailed:
      return "failed";
  }
  return "";
}

Settings settings_of(const SearchPlan& plan, int trial) {
  return trial == kBaseTrial ? Settings() : draw(plan.space, plan.seed, trial);
}

std::string name_of_stage(int stage) {
  return stage == kFinals ? "finals" : fmt::format("rung {}", stage);
}

double cost_of(const RunResult& result, Objective objective) {
  return objective == Objective::kSamples ? static_cast<double>(result.samples) : result.seconds;
}

bool is_better(const RunResult& a, const RunResult& b, Objective objective) {
  if (a.ending != b.ending) return a.ending < b.ending;
  if (a.ending == Ending::kFailed) return false;
  if (a.ending == Ending::kMissed) return a.accuracy > b.accuracy;
  const auto key = [&](const RunResult& result) {
    const double then =
        objective == Objective::kSamples ? -result.accuracy : static_cast<double>(result.samples);
    return std::tuple(cost_of(result, objective), then);
  };
  return key(a) < key(b);
}

std::string to_json_line(const FinishedRun& run) {
  ordered_json object = {{"trial", run.run.trial},
                         {"stage", name_of_stage(run.run.stage)},
                         {"seed", run.run.seed},
                         {"settings", to_json(run.settings)},
                         {"ending", name_of(run.result.ending)},
                         {"accuracy", run.result.accuracy},
                         {"samples", run.result.samples},
                         {"seconds", run.result.seconds},
                         {"log", run.result.log}};
  if (!run.result.message.empty()) object["message"] = run.result.message;
  return json_text(object);
}

FinishedRun from_json_line(const std::string& line, const std::string& source) {
  const auto object = ordered_json::parse(line, nullptr, false);
  if (!object.is_object())
    fail("{}: is not a run of a search; one JSON object is expected", source);
  FinishedRun run;
  try {
    run.run.trial = object.at("trial").get<int>();
    run.run.stage = stage_of(object.at("stage").get<std::string>());
    run.run.seed = object.at("seed").get<uint64_t>();
    for (const auto& [key, value] : object.at("settings").items()) {
      run.settings.push_back({key, value.get<std::string>()});
    }
    const auto ending = object.at("ending").get<std::string>();
    const auto* found =
        std::ranges::find_if(kEndings, [&](Ending known) { return ending == name_of(known); });
    if (found == std::end(kEndings)) throw std::domain_error("ending");
    run.result = {.ending = *found,
                  .accuracy = number_in(object, "accuracy"),
                  .samples = object.at("samples").get<int64_t>(),
                  .seconds = number_in(object, "seconds"),
                  .log = object.at("log").get<std::string>(),
                  .message = object.value("message", "")};
  } catch (const std::exception& error) {
    fail("{}: is not a run of a search ({})", source, error.what());
  }
  return run;
}

}  // namespace strata::search

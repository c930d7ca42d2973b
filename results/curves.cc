#include "results/curves.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json_version.h"
#include "compliance/checks/rounds.h"
#include "compliance/log/event_log.h"
#include "results/event_json.h"
#include "results/minutes.h"
#include "results/score.h"

namespace strata::results {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The events of a log as they come.
class CurveReader {
 public:
  explicit CurveReader(const fs::path& log) { curve_.log = log; }

  // Whether there may be more.
  bool take(const compliance::Event& event) {
    if (event.key == "submission_benchmark") {
      const json name = parsed(event.value);
      if (name.is_string()) curve_.benchmark = name;
    }
    if (event.key == "global_batch_size") batch_size_ = number_in(parsed(event.value));
    if (event.key == "quality_target") curve_.target = number_in(parsed(event.value));
    if (event.key == "run_start") {
      start_ms_ = event.time_ms;
      curve_.evaluations.clear();
    }
    if (!start_ms_) return true;
    if (event.key == "eval_accuracy") add(event, (event.time_ms - *start_ms_) / kMsPerMinute);
    if (event.key != "run_stop") return true;
    curve_.converged = metadata_of(event, "status") == "success";
    return false;
  }

  // `benchmark`: where the log names none.
  Curve finish(const std::string& benchmark) {
    if (curve_.benchmark.empty()) curve_.benchmark = benchmark;
    // Fewer samples than a batch has are epochs.
    const bool epochs = curve_.benchmark == "bert" && batch_size_ && !curve_.evaluations.empty() &&
                        curve_.evaluations.back().samples.value_or(0) < *batch_size_;
    for (Evaluation& evaluation : curve_.evaluations) {
      if (epochs) evaluation.samples.reset();
    }
    return std::move(curve_);
  }

 private:
  void add(const compliance::Event& event, double minutes) {
    const auto accuracy = number_in(parsed(event.value));
    if (accuracy && std::isfinite(minutes)) {
      curve_.evaluations.push_back(
          {minutes, number_in(metadata_of(event, "epoch_num")), *accuracy});
    } else {
      curve_.has_other_values = true;
    }
  }

  Curve curve_;
  std::optional<double> start_ms_, batch_size_;
};

// A log that cannot be read has no evaluations.
Curve read_curve_or_problem(const fs::path& log, const std::string& benchmark) {
  try {
    return read_curve(compliance::EventLog(log, compliance::LogFormat::kMllog), benchmark);
  } catch (const Error& error) {
    Curve curve;
    curve.log = log;
    curve.benchmark = benchmark;
    curve.problem = error.what();
    curve.readable = dynamic_cast<const ReadError*>(&error) == nullptr;
    return curve;
  }
}

// The logs in one place, and what to call them.
struct Place {
  fs::path path;
  std::string name, benchmark;
  std::vector<fs::path> logs;
  std::string submitter;
  SystemFacts system;

  std::string round() const {
    const auto choice = compliance::infer_ruleset_from_path(path, "");
    return choice.usage == "training" ? choice.ruleset : "";
  }
};

std::vector<Place> find_places(const fs::path& path, compliance::ListingProblems* problems) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) fail("{}: is {}", path.string(), what_is_at(path));
  if (!fs::is_directory(path, ignored)) return {{path, path.string(), "", {path}}};
  std::vector<Place> places;
  for (const compliance::ResultFolder& folder : compliance::find_result_folders(path, problems)) {
    const bool in_tree = !folder.submitter_path.empty();
    std::string unread;
    places.push_back({folder.path, folder.owner(), in_tree ? folder.benchmark : "", folder.logs,
                      folder.submitter, read_system_facts(folder, unread)});
    if (!unread.empty() && problems) problems->push_back(unread);
  }
  if (places.empty() && (problems == nullptr || problems->empty())) {
    fail("{}: neither it nor a folder in it holds result_N.txt files", path.string());
  }
  return places;
}

}  // namespace

Curve read_curve(const compliance::EventLog& log, const std::string& benchmark) {
  CurveReader reader(log.path());
  log.visit([&](const compliance::Event& event) { return reader.take(event); });
  return reader.finish(benchmark);
}

std::vector<Curve> read_curves(std::span<const fs::path> paths,
                               compliance::ListingProblems* problems) {
  std::vector<Place> places;
  std::map<std::pair<std::string, std::string>, std::set<fs::path>> of_name;
  for (const fs::path& path : paths) {
    for (Place& place : find_places(path, problems)) {
      of_name[{place.name, place.benchmark}].insert(fs::weakly_canonical(place.path));
      places.push_back(std::move(place));
    }
  }
  std::vector<Curve> curves;
  std::set<fs::path> seen;
  for (const Place& place : places) {
    const bool alone = of_name[{place.name, place.benchmark}].size() == 1;
    const std::string round = place.round();
    for (const fs::path& log : place.logs) {
      if (!seen.insert(fs::weakly_canonical(log)).second) continue;
      Curve& curve = curves.emplace_back(read_curve_or_problem(log, place.benchmark));
      if (!curve.readable && problems) problems->push_back(curve.problem);
      curve.series = alone ? place.name : fmt::format("{} in {}", place.name, place.path.string());
      curve.submitter = place.submitter;
      curve.accelerator = place.system.accelerator;
      curve.accelerators = place.system.accelerators;
      curve.round = round;
    }
  }
  return curves;
}

std::string curves_json(const std::vector<Curve>& curves) {
  const auto number = [](std::optional<double> value) { return value ? json(*value) : json(); };
  json runs = json::array();
  for (const Curve& curve : curves) {
    json evaluations = json::array();
    for (const Evaluation& evaluation : curve.evaluations) {
      evaluations.push_back({{"minutes", evaluation.minutes},
                             {"samples", number(evaluation.samples)},
                             {"accuracy", evaluation.accuracy}});
    }
    runs.push_back({{"log", curve.log.string()},
                    {"series", curve.series},
                    {"benchmark", curve.benchmark},
                    {"converged", curve.converged},
                    {"target", number(curve.target)},
                    {"problem", curve.problem},
                    {"evaluations", evaluations}});
  }
  return json{{"version", kJsonVersion}, {"runs", runs}}.dump(2, ' ', false,
                                                              json::error_handler_t::replace) +
         '\n';
}

}  // namespace strata::results

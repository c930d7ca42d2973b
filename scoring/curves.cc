#include "scoring/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/json.h"
#include "base/text/json_version.h"
#include "compliance/checks/rounds.h"
#include "mllog/log_reader.h"
#include "scoring/event_json.h"
#include "scoring/minutes.h"
#include "scoring/score.h"
#include "scoring/system_names.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Reads the events of a log in order.
class CurveReader {
 public:
  explicit CurveReader(const fs::path& log) { curve_.log = log; }

  // Returns whether more events may follow.
  bool take(const mllog::Event& event) {
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

  // `benchmark` is used if the log names none.
  Curve finish(const std::string& benchmark) {
    if (curve_.benchmark.empty()) curve_.benchmark = benchmark;
    // Fewer samples than a batch holds must be epochs.
    const bool epochs = curve_.benchmark == "bert" && batch_size_ && !curve_.evaluations.empty() &&
                        curve_.evaluations.back().samples.value_or(0) < *batch_size_;
    for (Evaluation& evaluation : curve_.evaluations) {
      if (epochs) evaluation.samples.reset();
    }
    return std::move(curve_);
  }

 private:
  void add(const mllog::Event& event, double minutes) {
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

// Returns a curve without evaluations if the log cannot be read.
Curve read_curve_or_problem(const fs::path& log, const std::string& benchmark) {
  try {
    return read_curve(mllog::LogReader(log, mllog::LogFormat::kMllog), benchmark);
  } catch (const Error& error) {
    Curve curve;
    curve.log = log;
    curve.benchmark = benchmark;
    curve.problem = error.what();
    curve.readable = dynamic_cast<const ReadError*>(&error) == nullptr;
    return curve;
  }
}

// The logs of one folder or file.
struct Place {
  fs::path path;
  std::string benchmark;
  std::vector<fs::path> logs;
  compliance::ResultFolder folder;  // without a submission for a single log
  SystemFacts system;

  std::string round() const {
    const auto choice = compliance::infer_ruleset_from_path(path, "");
    return choice.usage == "training" ? choice.ruleset : "";
  }
};

std::vector<Place> find_places(const fs::path& path, compliance::ListingProblems* problems) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) fail("{}: is {}", path.string(), what_is_at(path));
  if (!fs::is_directory(path, ignored)) return {{path, "", {path}, {.path = path}, {}}};
  std::vector<Place> places;
  for (const compliance::ResultFolder& folder : compliance::find_result_folders(path, problems)) {
    const bool in_tree = !folder.submitter_path.empty();
    std::string unread;
    places.push_back({folder.path, in_tree ? folder.benchmark : "", folder.logs, folder,
                      read_system_facts(folder, unread)});
    if (!unread.empty() && problems) problems->push_back(unread);
  }
  if (places.empty() && (problems == nullptr || problems->empty())) {
    fail("{}: no result_N.txt files are in this folder or below it", path.string());
  }
  return places;
}

}  // namespace

size_t median_run(std::span<const Curve* const> runs) {
  std::vector<size_t> order;
  for (const bool converged : {true, false}) {
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i]->converged == converged) order.push_back(i);
    }
    if (!order.empty()) break;
  }
  const auto end = [&](size_t i) { return std::pair(runs[i]->evaluations.back().minutes, i); };
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
  std::nth_element(order.begin(), middle, order.end(),
                   [&](size_t a, size_t b) { return end(a) < end(b); });
  return *middle;
}

Curve read_curve(const mllog::LogReader& log, const std::string& benchmark) {
  CurveReader reader(log.path());
  log.visit([&](const mllog::Event& event) { return reader.take(event); });
  return reader.finish(benchmark);
}

std::vector<Curve> read_curves(std::span<const fs::path> paths,
                               compliance::ListingProblems* problems) {
  std::vector<Place> places;
  for (const fs::path& path : paths) {
    std::vector<Place> found = find_places(path, problems);
    std::move(found.begin(), found.end(), std::back_inserter(places));
  }
  std::vector<const compliance::ResultFolder*> folders;
  for (const Place& place : places) folders.push_back(&place.folder);
  const std::vector<std::string> apart = distinguishing_places(folders);
  std::vector<Curve> curves;
  std::set<fs::path> seen;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    const std::string round = place.round();
    for (const fs::path& log : place.logs) {
      if (!seen.insert(fs::weakly_canonical(log)).second) continue;
      Curve& curve = curves.emplace_back(read_curve_or_problem(log, place.benchmark));
      if (!curve.readable && problems) problems->push_back(curve.problem);
      curve.series = name_with_place(place.folder, apart[i]);
      curve.submitter = place.folder.submitter;
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
  return json_text(json{{"version", kJsonVersion}, {"runs", runs}}, 2) + '\n';
}

}  // namespace strata::scoring

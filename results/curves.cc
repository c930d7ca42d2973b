#include "results/curves.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "compliance/event_log.h"
#include "compliance/submission_tree.h"

namespace strata::results {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kMsPerMinute = 60'000;

// A field of an event's metadata; null where there is none.
json metadata_of(const compliance::Event& event, const char* field) {
  const json metadata = json::parse(event.metadata, nullptr, false);
  const auto found = metadata.is_object() ? metadata.find(field) : metadata.end();
  return metadata.is_object() && found != metadata.end() ? *found : json();
}

Curve read_curve(const fs::path& log, std::string series) {
  Curve curve{.log = log, .series = std::move(series)};
  std::optional<double> start_ms;
  const compliance::EventLog events(log, compliance::LogFormat::kMllog);
  events.visit([&](const compliance::Event& event) {
    if (event.key == "run_start") start_ms = event.time_ms;
    if (event.key == "run_stop") curve.converged = metadata_of(event, "status") == "success";
    if (event.key == "submission_benchmark") {
      const json name = json::parse(event.value, nullptr, false);
      if (name.is_string()) curve.benchmark = name;
    }
    const bool is_evaluation = event.key == "eval_accuracy" && start_ms;
    if (!is_evaluation && event.key != "quality_target") return true;
    const json accuracy = json::parse(event.value, nullptr, false);
    if (!accuracy.is_number()) return true;
    if (!is_evaluation) {
      curve.target = accuracy;
      return true;
    }
    Evaluation evaluation{.minutes = (event.time_ms - *start_ms) / kMsPerMinute,
                          .accuracy = accuracy};
    const json samples = metadata_of(event, "epoch_num");
    if (samples.is_number()) evaluation.samples = samples;
    curve.evaluations.push_back(evaluation);
    return true;
  });
  return curve;
}

std::string name_of(const compliance::ResultFolder& folder) {
  if (folder.submitter_path.empty()) return folder.path.string();
  return fmt::format("{} {}", folder.submitter, folder.system);
}

}  // namespace

std::vector<Curve> read_curves(std::span<const fs::path> paths) {
  std::vector<Curve> curves;
  for (const fs::path& path : paths) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) fail("{}: is not there", path.string());
    if (!fs::is_directory(path, ignored)) {
      curves.push_back(read_curve(path, path.string()));
      continue;
    }
    const auto folders = compliance::find_result_folders(path);
    if (folders.empty()) {
      fail("{}: neither it nor a folder in it holds result_N.txt files", path.string());
    }
    for (const compliance::ResultFolder& folder : folders) {
      for (const fs::path& log : folder.logs) curves.push_back(read_curve(log, name_of(folder)));
    }
  }
  return curves;
}

std::string curves_json(const std::vector<Curve>& curves) {
  json runs = json::array();
  for (const Curve& curve : curves) {
    json evaluations = json::array();
    for (const Evaluation& evaluation : curve.evaluations) {
      evaluations.push_back({{"minutes", evaluation.minutes},
                             {"samples", evaluation.samples ? json(*evaluation.samples) : json()},
                             {"accuracy", evaluation.accuracy}});
    }
    runs.push_back({{"log", curve.log.string()},
                    {"series", curve.series},
                    {"benchmark", curve.benchmark},
                    {"converged", curve.converged},
                    {"target", curve.target ? json(*curve.target) : json()},
                    {"evaluations", evaluations}});
  }
  return runs.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace strata::results

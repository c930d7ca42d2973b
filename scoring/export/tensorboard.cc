#include "scoring/export/tensorboard.h"

#include <cmath>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/characters.h"
#include "scoring/event_json.h"
#include "scoring/export/named_logs.h"

namespace strata::scoring {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns an int64 if the value is a whole number that a double holds exactly.
std::optional<int64_t> whole(const json& value) {
  constexpr double kMost = 9e15;
  const auto number = number_in(value);
  if (!number || std::fabs(*number) > kMost || *number != std::floor(*number)) return std::nullopt;
  return static_cast<int64_t>(*number);
}

std::optional<int64_t> step_of(const mllog::Event& event) {
  for (const char* field : {"samples_count", "step_num", "epoch_num"}) {
    if (const auto step = whole(metadata_of(event, field))) return step;
  }
  return std::nullopt;
}

}  // namespace

std::vector<TensorBoardScalar> scalars_of(const mllog::LogReader& log) {
  std::vector<TensorBoardScalar> scalars;
  std::map<std::string, int64_t> points;
  bool runs = false;
  log.visit([&](const mllog::Event& event) {
    runs |= event.key == "run_start";
    if (event.key == "run_stop") return false;
    const json value = runs ? parsed(event.value) : json();
    const auto add = [&](const std::string& tag, const json& field) {
      const auto number = number_in(field);
      const auto single = static_cast<float>(number.value_or(HUGE_VAL));
      if (!std::isfinite(single) || !std::isfinite(event.time_ms)) return;
      const int64_t point = points[tag]++;
      scalars.push_back({tag, step_of(event).value_or(point), event.time_ms / 1000, single});
    };
    const std::string key = valid_utf8(event.key);
    add(key, value);
    if (value.is_object()) {
      for (const auto& [name, field] : value.items()) add(key + '/' + valid_utf8(name), field);
    }
    return true;
  });
  return scalars;
}

std::string event_file(const std::vector<TensorBoardScalar>& scalars) {
  std::string out = tensorboard_header(scalars.empty() ? 0 : scalars.front().time_s);
  for (const TensorBoardScalar& scalar : scalars) out += tensorboard_record(scalar);
  return out;
}

std::vector<ExportedRun> export_tensorboard(std::span<const fs::path> paths, const fs::path& output,
                                            compliance::ListingProblems& problems) {
  std::vector<ExportedRun> exported;
  for (const auto& [folder, log] : named_logs(paths, problems)) {
    std::vector<TensorBoardScalar> scalars;
    try {
      scalars = scalars_of(mllog::LogReader(log, mllog::LogFormat::kMllog));
    } catch (const Error& error) {
      problems.push_back(error.what());
      continue;
    }
    // TensorBoard reads files with "tfevents" in their name. A second export replaces the first.
    const fs::path file = output / folder / "events.out.tfevents.0.strata";
    write_file_atomically(file, event_file(scalars));
    exported.push_back({log, file, scalars.size()});
  }
  return exported;
}

}  // namespace strata::scoring

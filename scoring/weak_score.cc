#include "scoring/weak_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "base/text/counts.h"
#include "compliance/checks/rounds.h"
#include "mllog/python_digits.h"

namespace strata::scoring {
namespace {

// Returns Python's int() of a logged number or text.
std::optional<int64_t> logged_integer(std::string_view value) {
  const bool text = value.size() > 1 && value.front() == '"';
  const auto digits =
      mllog::python_int(std::string(text ? value.substr(1, value.size() - 2) : value));
  if (!digits) return std::nullopt;
  int64_t number = 0;
  const char* end = digits->data() + digits->size();
  if (std::from_chars(digits->data(), end, number).ec != std::errc()) return std::nullopt;
  return number;
}

// Leaves out the least of the runs' energies, as the official tool does.
std::optional<double> weak_energy(const std::vector<RunScore>& runs) {
  std::vector<double> energies;
  for (const RunScore& run : runs) {
    if (!run.counts) continue;
    if (!run.energy_joules) return std::nullopt;
    energies.push_back(*run.energy_joules);
  }
  if (energies.size() < 2) return std::nullopt;
  std::sort(energies.begin(), energies.end());
  return std::accumulate(energies.begin() + 1, energies.end(), 0.0) /
         static_cast<double>(energies.size() - 1);
}

}  // namespace

std::optional<int64_t> read_instance_scale(const mllog::LogReader& log) {
  std::optional<int64_t> nodes, per_node;
  bool said_nodes = false, said_per_node = false;
  log.visit([&](const mllog::Event& event) {
    if (event.key == "number_of_nodes") {
      nodes = logged_integer(event.value);
      said_nodes = event.value != "null";
    }
    if (event.key == "accelerators_per_node") {
      per_node = logged_integer(event.value);
      said_per_node = event.value != "null";
    }
    return !(said_nodes && said_per_node);
  });
  int64_t scale = 0;
  if (!nodes || !per_node ||
      __builtin_mul_overflow(*nodes, std::max<int64_t>(*per_node, 1), &scale)) {
    return std::nullopt;
  }
  return scale;
}

void set_weak_score(Score& score) {
  WeakScore weak;
  double start = std::numeric_limits<double>::infinity(), stop = -start;
  for (const RunScore& run : score.runs) {
    if (!run.counts) continue;
    ++weak.models;
    start = std::min(start, *run.start_ms);
    stop = std::max(stop, *run.start_ms + *run.duration_ms);
    if (!run.instance_scale) continue;
    if (weak.instance_scale && weak.instance_scale != run.instance_scale) {
      score.weak_problem =
          fmt::format("models were trained on different numbers of accelerators: {} and {}",
                      *weak.instance_scale, *run.instance_scale);
      return;
    }
    weak.instance_scale = run.instance_scale;
  }
  score.runs_needed = compliance::result_file_count(score.usage, score.folder.benchmark);
  if (weak.models == 0 || weak.models < static_cast<size_t>(score.runs_needed)) {
    score.weak_problem =
        weak.models == 0
            ? "no model counts"
            : fmt::format("{}, but {} or more are needed",
                          counted(weak.models, "model counts", "models count"), score.runs_needed);
    return;
  }
  weak.time_to_train_all_ms = stop - start;
  score.weak = weak;
  score.energy_joules = weak_energy(score.runs);
}

}  // namespace strata::scoring

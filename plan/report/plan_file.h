// Reads the output of `strata plan --json` for pictures and reports.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::plan {

inline constexpr uint64_t kMostPlanBytes = 64 << 20;
inline constexpr std::array kStepTerms = {"compute", "imbalance", "constant", "bubble", "exposed"};

// A prediction, and the published values if it was made for a published system.
struct PlannedRun {
  double ranks = 0, batch = 0;
  std::array<double, kStepTerms.size()> milliseconds{};  // per step, by term
  double minutes = 0, low = 0, high = 0;
  std::optional<double> published_milliseconds, published_minutes;
  std::string name;  // name of the published system
  // Why the prediction is an extrapolation; empty if it is none.
  std::string extrapolation;
  std::string found;                         // "fastest" or "cheapest", if a search found it
  std::vector<std::string> calibrated_from;  // names of systems or files
};

// Throws Error with the file and what to do if it is not that command's output or has no
// prediction.
std::vector<PlannedRun> read_plan_file(const std::filesystem::path& path);
// Parses a text; `name` stands for the path.
std::vector<PlannedRun> parse_plan_file(std::string_view text, const std::string& name);

}  // namespace strata::plan

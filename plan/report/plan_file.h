// What `strata plan --json` printed, as far as pictures and reports show it.
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

// A prediction, and what was published of the system that it was made for, if it was for one.
struct PlannedRun {
  double ranks = 0, batch = 0;
  std::array<double, kStepTerms.size()> milliseconds{};  // of a step, a term each
  double minutes = 0, low = 0, high = 0;
  std::optional<double> published_milliseconds, published_minutes;
  std::string name;  // of that system
};

// Throws Error, naming the file and what to do, where it is not that command's output or predicts
// nothing.
std::vector<PlannedRun> read_plan_file(const std::filesystem::path& path);
// The same of a text; `name` stands for the path.
std::vector<PlannedRun> parse_plan_file(std::string_view text, const std::string& name);

}  // namespace strata::plan

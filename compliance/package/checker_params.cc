#include "compliance/package/checker_params.h"

#include <sstream>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"

namespace strata::compliance {
namespace {

constexpr uint64_t kMostParameterBytes = 1 << 20;
constexpr size_t kMostUnknown = 20;

constexpr std::pair<std::string_view, bool CheckerParams::*> kOptions[] = {
    {"rcp-bypass", &CheckerParams::rcp_bypass},
    {"seed-checker-bypass", &CheckerParams::seed_bypass},
    {"rcp-bert-train-samples", &CheckerParams::bert_train_samples},
    {"quiet", &CheckerParams::quiet},
    {"werror", &CheckerParams::werror}};

void take(CheckerParams& params, const std::string& line) {
  for (const auto& [name, option] : kOptions) {
    if (line != name) continue;
    params.*option = true;
    params.given.push_back(line);
    return;
  }
  if (params.unknown.size() < kMostUnknown) params.unknown.push_back(line);
}

}  // namespace

CheckerParams read_checker_params(const std::filesystem::path& folder) {
  CheckerParams params;
  const std::filesystem::path path = folder / "package_checker_params";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return params;
  std::istringstream lines;
  try {
    lines.str(read_file(path, kMostParameterBytes));
  } catch (const Error&) {
    return params;  // permits nothing
  }
  for (std::string line; read_line(lines, line);) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) take(params, line);
  }
  return params;
}

}  // namespace strata::compliance

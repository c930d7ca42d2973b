#include "compliance/package/scaling.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::compliance {
namespace {

namespace fs = std::filesystem;

// Reads the factor in an existing file, or returns nullopt if it has none.
std::optional<double> factor_in(const fs::path& path) {
  constexpr uint64_t kMostBytes = 1 << 20;
  const nlohmann::json fields = nlohmann::json::parse(read_file(path, kMostBytes), nullptr, false);
  if (!fields.is_object()) return std::nullopt;
  const auto factor = fields.find("scaling_factor");
  if (factor == fields.end() || !factor->is_number()) return std::nullopt;
  return factor->get<double>();
}

// Compares an existing file with the wanted factor.
ScalingWritten compare(const fs::path& path, double wanted) {
  constexpr double kRounding = 1e-12;
  std::optional<double> there;
  try {
    there = factor_in(path);
  } catch (const Error& error) {
    return {"", fmt::format("{}; the factor {} was not written", error.what(), wanted)};
  }
  if (there && std::fabs(*there - wanted) <= kRounding * wanted)
    return {fmt::format("scaling.json already holds {}", python_float(wanted)), ""};
  return {"", fmt::format(
                  "{}: already holds {}, but the check asks for {}; the file was not changed",
                  path.string(), there ? python_float(*there) : "no factor", python_float(wanted))};
}

}  // namespace

std::string python_float(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return text;
}

ScalingWritten write_scaling(const fs::path& folder, const RcpVerdict& rcp) {
  const fs::path path = folder / "scaling.json";
  std::error_code error;
  const bool there = fs::symlink_status(path, error).type() != fs::file_type::not_found;
  if (!rcp.judged || !rcp.passed || rcp.scaling <= 1) {
    return {there
                ? "scaling.json exists, but the check asks for no factor; the file was not changed"
                : "",
            ""};
  }
  if (there) return compare(path, rcp.scaling);
  try {
    const std::string text = fmt::format("{{\"scaling_factor\": {}}}", python_float(rcp.scaling));
    if (!write_new_file(path, text)) return compare(path, rcp.scaling);
  } catch (const Error& failed) {
    return {"", failed.what()};
  }
  return {fmt::format("scaling.json written: {}", python_float(rcp.scaling)), ""};
}

}  // namespace strata::compliance

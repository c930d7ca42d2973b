#include "bench/simulation/measured_speed.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::bench {
namespace {

using nlohmann::json;

double number_of(const json& object, const char* key, const std::string& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number() || !std::isfinite(found->get<double>()) ||
      found->get<double>() < 0) {
    fail(
        "{}: '{}' is no number of a step with phases; write the file with 'strata bench step "
        "--json', without device.graphs",
        file, key);
  }
  return found->get<double>();
}

const json& object_of(const json& object, const char* key, const std::string& file) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_object()) {
    fail("{}: has no '{}'; write the file with 'strata bench step --json'", file, key);
  }
  return *found;
}

}  // namespace

DeviceSpeed read_measured_speed(const std::filesystem::path& path) {
  const std::string file = path.string();
  const json step = json::parse(read_file(path), nullptr, false);
  if (!step.is_object()) fail("{}: is no JSON of 'strata bench step --json'", file);
  if (number_of(step, "ranks", file) != 1) {
    fail("{}: was measured on several ranks; measure on one, which communicates with nobody", file);
  }
  const json& seconds = object_of(step, "seconds", file);
  const double computing =
      number_of(seconds, "forward", file) + number_of(seconds, "backward", file);
  const double after = number_of(seconds, "reduce_and_update_after_backward", file);
  const double update = number_of(seconds, "update", file);
  const double flops = number_of(step, "model_flops_per_step", file);
  if (computing == 0 || flops == 0) fail("{}: a step that computed nothing", file);
  const double gradients = number_of(object_of(step, "parameter_bytes", file), "gradients", file);
  return {.flops_per_second = flops / computing,
          .bytes_per_second = update > 0 ? gradients / kGradientBytes * kUpdateBytes / update : 0,
          .step_seconds = std::max(0.0, number_of(seconds, "step", file) - computing - after)};
}

}  // namespace strata::bench

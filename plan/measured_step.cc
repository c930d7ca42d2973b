#include "plan/measured_step.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"

namespace strata::plan {
namespace {

using nlohmann::json;

constexpr uint64_t kMostStepBytes = 64 << 20;
constexpr double kMostRanks = 1 << 20, kMostSequences = 1e9;
constexpr const char* kWhatToDo = "write the file with 'strata bench step --config FILE --json'";

double number_above_zero(const json& fields, const char* key, const std::string& name) {
  const auto found = fields.find(key);
  const double number = found != fields.end() && found->is_number() ? found->get<double>() : 0;
  constexpr double kMost = 1e12;
  if (!std::isfinite(number) || number <= 0 || number > kMost) {
    fail("{}: \"{}\" is {}, a number above 0 was expected; {}", name, key,
         found == fields.end()
             ? "missing"
             : found->dump(-1, ' ', true, json::error_handler_t::replace).substr(0, 80),
         kWhatToDo);
  }
  return number;
}

// Returns a rank's sequences over those of its first micro-batch.
int64_t micro_batches_of(const json& fields, double per_rank, const std::string& name) {
  const auto lengths = fields.find("lengths");
  if (lengths == fields.end() || !lengths->is_array() || lengths->empty() ||
      !lengths->front().is_array() || lengths->front().empty()) {
    fail("{}: \"lengths\" holds no micro-batches; {}", name, kWhatToDo);
  }
  return std::max<int64_t>(1,
                           std::llround(per_rank / static_cast<double>(lengths->front().size())));
}

// Weights are in f32, perhaps with a copy in 16 bits. The optimizer has two moments in f32, which
// ranks may share.
std::vector<double> parameters_of(const json& fields, double ranks, const std::string& name) {
  const auto bytes = fields.find("parameter_bytes");
  if (bytes == fields.end()) return {};
  if (!bytes->is_object()) fail("{}: \"parameter_bytes\" is not an object; {}", name, kWhatToDo);
  const double weights = number_above_zero(*bytes, "weights", name);
  const double gradients = number_above_zero(*bytes, "gradients", name);
  std::vector<double> parameters = {weights / 4, weights / 6, gradients / 4};
  if (bytes->contains("state") && (*bytes)["state"] != 0) {
    const double state = number_above_zero(*bytes, "state", name);
    parameters.insert(parameters.end(), {state / 8, ranks * state / 8});
  }
  return parameters;
}

}  // namespace

void check_model(const MeasuredStep& step, const ModelShape& shape) {
  constexpr double kPadding = 0.01;
  const auto fits = [&](double parameters) {
    return std::fabs(parameters / shape.parameters - 1) < kPadding;
  };
  if (step.parameters.empty() || std::ranges::any_of(step.parameters, fits)) return;
  fail(
      "{}: a model of {:.1f} million parameters was measured, but the model to plan has {:.1f} "
      "million; give the measured model's config.json with --model, or measure the other model",
      step.name, std::ranges::max(step.parameters) / 1e6, shape.parameters / 1e6);
}

MeasuredStep parse_measured_step(std::string_view text, const std::string& name) {
  const json fields = json::parse(text, nullptr, false);
  if (!fields.is_object()) fail("{}: is not a JSON object; {}", name, kWhatToDo);
  const auto seconds = fields.find("seconds");
  if (seconds == fields.end() || !seconds->is_object()) {
    fail("{}: has no \"seconds\"; {}", name, kWhatToDo);
  }
  MeasuredStep step;
  step.name = name;
  const double ranks = number_above_zero(fields, "ranks", name);
  step.batch = number_above_zero(fields, "sequences_per_step", name);
  if (ranks > kMostRanks || ranks != std::floor(ranks) || step.batch > kMostSequences) {
    fail("{}: has {} on {}; expected at most {} sequences, and a whole number of ranks up to {}",
         name, counted(step.batch, "sequence"), counted(ranks, "rank"), count_text(kMostSequences),
         count_text(kMostRanks));
  }
  step.ranks = std::llround(ranks);
  step.seconds = number_above_zero(*seconds, "step", name);
  if (seconds->contains("update") && (*seconds)["update"] != 0) {
    step.update = number_above_zero(*seconds, "update", name);
  }
  step.parameters = parameters_of(fields, ranks, name);
  step.micro_batches = micro_batches_of(fields, step.samples_per_rank(), name);
  return step;
}

MeasuredStep read_measured_step(const std::filesystem::path& path) {
  return parse_measured_step(read_file(path, kMostStepBytes), path.string());
}

}  // namespace strata::plan

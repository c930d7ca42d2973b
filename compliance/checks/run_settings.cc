#include "compliance/checks/run_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "mllog/log_value.h"

namespace strata::compliance {
namespace {

constexpr std::string_view kTarget = "quality_target";
// Only eval_samples describes the data set: train_samples may count the samples that the run
// trained on.
constexpr std::string_view kData = "eval_samples";
constexpr std::string_view kHyperparameters[] = {
    "global_batch_size",       "gradient_accumulation_steps",
    "max_predictions_per_seq", "max_sequence_length",
    "num_warmup_steps",        "start_warmup_step"};

std::optional<SettingKind> kind_of(std::string_view key) {
  if (key == kTarget) return SettingKind::kTarget;
  if (key == kData) return SettingKind::kData;
  for (const std::string_view prefix : {"opt_", "lars_opt_", "sgd_opt_"}) {
    if (key.starts_with(prefix)) return SettingKind::kHyperparameter;
  }
  if (std::ranges::find(kHyperparameters, key) == std::end(kHyperparameters)) return std::nullopt;
  return SettingKind::kHyperparameter;
}

// Gives equal numbers the same text.
std::string shown(std::string_view json) {
  constexpr size_t kMostBytes = 80;
  std::string text(json.substr(0, kMostBytes));
  if (const auto number = mllog::finite_number(text)) return fmt::format("{}", *number);
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return text;
}

}  // namespace

std::optional<double> RunSettings::target() const {
  const auto found = values.find(kTarget);
  return found == values.end() ? std::nullopt : mllog::finite_number(found->second.value);
}

RunSettings read_settings(const mllog::LogReader& log) {
  constexpr size_t kMostKeys = 200;
  RunSettings run;
  run.log = log.path();
  log.visit([&](const mllog::Event& event) {
    if (event.key.starts_with("eval_") && event.key != kData) return false;
    const auto kind = kind_of(event.key);
    if (kind && run.values.size() < kMostKeys)
      run.values.try_emplace(std::string(event.key), Setting{*kind, shown(event.value)});
    return true;
  });
  return run;
}

std::string DifferingSetting::describe() const {
  constexpr size_t kShown = 4;
  std::vector<std::string> first(
      values.begin(),
      values.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, values.size())));
  const size_t more = values.size() - first.size();
  return fmt::format("{} is {}{}", key, fmt::join(first, more > 0 ? ", " : " and "),
                     more > 0 ? fmt::format(" and {} other values", more) : "");
}

std::vector<DifferingSetting> differing_settings(std::span<const RunSettings> runs) {
  std::map<std::string, DifferingSetting> found;
  for (const RunSettings& run : runs) {
    for (const auto& [key, setting] : run.values) {
      DifferingSetting& known =
          found.try_emplace(key, DifferingSetting{setting.kind, key, {}, {}}).first->second;
      if (std::ranges::find(known.values, setting.value) != known.values.end()) continue;
      known.values.push_back(setting.value);
      if (known.values.size() == 2) known.log = run.log;
    }
  }
  std::vector<DifferingSetting> differing;
  for (auto& [key, setting] : found) {
    if (setting.values.size() > 1) differing.push_back(std::move(setting));
  }
  return differing;
}

}  // namespace strata::compliance

// The settings of a run from its log: target, hyperparameters and data. All runs of a result folder
// must agree on them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mllog/log_reader.h"

namespace strata::compliance {

enum class SettingKind : uint8_t { kTarget, kHyperparameter, kData };

struct Setting {
  SettingKind kind = SettingKind::kHyperparameter;
  std::string value;  // JSON, printable, at most 80 bytes; numbers in their shortest form
};

struct RunSettings {
  std::filesystem::path log;
  std::map<std::string, Setting, std::less<>> values;  // by key; the first event of a key counts

  // Returns the log's quality_target, which Strata writes.
  std::optional<double> target() const;
};

// Reads the events before the first evaluation.
RunSettings read_settings(const mllog::LogReader& log);

// A key with several values among the runs. Logs without the key do not count.
struct DifferingSetting {
  SettingKind kind = SettingKind::kHyperparameter;
  std::string key;
  std::vector<std::string> values;  // distinct values in the order of the runs
  std::filesystem::path log;        // the first log with the second value

  std::string describe() const;  // "opt_base_learning_rate is 0.002 and 0.001"
};
std::vector<DifferingSetting> differing_settings(std::span<const RunSettings> runs);

}  // namespace strata::compliance

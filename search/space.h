// The space that a search draws its trials' settings from.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace strata::search {

// A key of a run's configuration and its value in YAML: "optimizer.lr", "0.001234".
struct Setting {
  std::string key, value;

  bool operator==(const Setting&) const = default;
};
using Settings = std::vector<Setting>;

enum class Distribution : uint8_t {
  kChoice,
  kUniform,
  kLogUniform,
  kOneMinusLogUniform,  // 1 - x, with x log-uniform: for decays near 1
  kInteger,             // both ends included
};

const char* name_of(Distribution distribution);  // the name in files: "log_uniform"

// The values of one key. A key may have several dimensions, with different `when`.
struct Dimension {
  std::string key;
  Distribution distribution = Distribution::kChoice;
  std::vector<std::string> choices;  // for kChoice, in YAML
  double low = 0, high = 0;          // for all others
  // Drawn only if these settings were drawn before.
  Settings when;
};

// Returns the settings of a trial, in the order of the dimensions. They depend only on seed, trial
// and the dimension. Numbers have four significant digits, or as many as tell a thousand values of
// the range apart.
Settings draw(std::span<const Dimension> space, uint64_t seed, int trial);

// Returns overrides of a configuration: "optimizer.lr=0.001234".
std::vector<std::string> overrides_of(const Settings& settings);
// Returns the overrides on one line, separated by spaces.
std::string to_text(const Settings& settings);
// Returns {"optimizer.lr": "0.001234"}.
nlohmann::ordered_json to_json(const Settings& settings);

}  // namespace strata::search

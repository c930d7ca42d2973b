// What a search draws the settings of its trials from.
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

const char* name_of(Distribution distribution);  // as files have it: "log_uniform"

// The values of one key. A key may have several dimensions, for different `when`.
struct Dimension {
  std::string key;
  Distribution distribution = Distribution::kChoice;
  std::vector<std::string> choices;  // of kChoice, in YAML
  double low = 0, high = 0;          // of all others
  // Drawn only where these have been drawn before it.
  Settings when;
};

// The settings of a trial, in the order of the dimensions. They depend on seed, trial and the
// dimension alone. Numbers have four significant digits, or as many as tell a thousand values of
// the range apart.
Settings draw(std::span<const Dimension> space, uint64_t seed, int trial);

// "optimizer.lr=0.001234", as configurations are overridden.
std::vector<std::string> overrides_of(const Settings& settings);
// The same in one line, with blanks between them.
std::string to_text(const Settings& settings);
// {"optimizer.lr": "0.001234"}
nlohmann::ordered_json to_json(const Settings& settings);

}  // namespace strata::search

// The kinds of values that configuration keys hold. A kind describes itself, reads a value and
// writes it back. If it cannot read a value, the message says that it is not what was `expected`.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "config/config_value.h"
#include "config/cost_file.h"
#include "config/run_config.h"
#include "config/run_config_names.h"
#include "device/registry/backends.h"
#include "loadbalance/cost_model.h"

namespace strata::config {

// An integer in [low, high].
template <typename T>
struct Integer {
  int64_t low;
  int64_t high;

  std::string type() const { return fmt::format("an integer from {} to {}", low, high); }
  T parse(const ConfigValue& value, const std::string& expected) const {
    const int64_t number = value.integer(expected);
    if (number < low || number > high) value.reject(expected);
    return static_cast<T>(number);
  }
  std::string format(T number) const { return fmt::format("{}", number); }
};

// A finite number between two bounds, each included or not.
struct Number {
  enum class Bound : uint8_t { kIncluded, kExcluded, kNone };
  double low;
  Bound low_bound;
  double high;
  Bound high_bound;

  static Number above(double low) { return {low, Bound::kExcluded, 0, Bound::kNone}; }
  static Number at_least(double low) { return {low, Bound::kIncluded, 0, Bound::kNone}; }
  // [low, high)
  static Number below(double low, double high) {
    return {low, Bound::kIncluded, high, Bound::kExcluded};
  }
  // [low, high]
  static Number within(double low, double high) {
    return {low, Bound::kIncluded, high, Bound::kIncluded};
  }
  // (low, high]
  static Number up_to(double low, double high) {
    return {low, Bound::kExcluded, high, Bound::kIncluded};
  }

  std::string type() const;
  double parse(const ConfigValue& value, const std::string& expected) const;
  std::string format(double number) const { return shortest(number); }
};

struct Flag {
  std::string type() const { return "`true` or `false`"; }
  bool parse(const ConfigValue& value, const std::string& expected) const {
    return value.flag(expected);
  }
  std::string format(bool flag) const { return flag ? "true" : "false"; }
};

struct Text {
  std::string type() const { return "text"; }
  std::string parse(const ConfigValue& value, const std::string& expected) const {
    return value.text(expected);
  }
  std::string format(const std::string& text) const { return yaml_text(text); }
};

// A text that becomes one component of a path.
struct FileName {
  std::string type() const { return "a valid directory name"; }
  std::string parse(const ConfigValue& value, const std::string& expected) const;
  std::string format(const std::string& text) const { return yaml_text(text); }
};

struct Path {
  std::string type() const { return "a path"; }
  std::filesystem::path parse(const ConfigValue& value, const std::string& expected) const {
    return value.path(expected);
  }
  std::string format(const std::filesystem::path& path) const { return yaml_text(path.string()); }
};

// The name of one of `presets`, or a path.
struct PresetOrPath {
  std::vector<std::string> presets;

  std::string type() const;
  std::string parse(const ConfigValue& value, const std::string& expected) const;
  std::string format(const std::string& text) const;
};

struct Paths {
  std::string type() const { return "a path or a list of paths"; }
  std::vector<std::filesystem::path> parse(const ConfigValue& value,
                                           const std::string& expected) const;
  std::string format(const std::vector<std::filesystem::path>& paths) const;
};

// Rising integers from 1 to `high`.
struct RisingIntegers {
  int64_t high;

  std::string type() const {
    return fmt::format("a list of increasing integers from 1 to {}", high);
  }
  std::vector<int> parse(const ConfigValue& value, const std::string& expected) const;
  std::string format(const std::vector<int>& numbers) const;
};

// A cost model, given here or in a measured file.
struct Cost {
  std::string type() const {
    return "`{linear: A, quadratic: B}` (at least 0, not both 0), the path of a file that `strata "
           "bench cost` wrote, or `auto`";
  }
  loadbalance::CostModel parse(const ConfigValue& value, const std::string& expected) const {
    return read_cost(value, expected);
  }
  std::string format(const loadbalance::CostModel& cost) const {
    return fmt::format("{{linear: {}, quadratic: {}}}", shortest(cost.linear),
                       shortest(cost.quadratic));
  }
};

// Names and values. They are checked when the backend is known.
struct BackendOptionValues {
  std::string type() const { return "`{name: value, ...}`"; }
  std::string meanings() const;
  device::OptionValues parse(const ConfigValue& value, const std::string& expected) const;
  std::string format(const device::OptionValues& values) const;
};

template <typename Enum>
struct Choice {
  std::string type() const {
    std::string names;
    for (const auto& choice : choices_of<Enum>()) {
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", choice.name);
    }
    return choices_of<Enum>().size() > 1 ? fmt::format("one of {}", names) : names;
  }
  std::string meanings() const {
    std::string list;
    for (const auto& choice : choices_of<Enum>()) {
      list += fmt::format("{}`{}`: {}", list.empty() ? "" : "; ", choice.name, choice.meaning);
    }
    return list + ".";
  }
  Enum parse(const ConfigValue& value, const std::string& expected) const {
    if (const auto choice = choice_named<Enum>(value.text(expected))) return *choice;
    value.reject(expected);
  }
  std::string format(Enum value) const { return name_of(value); }
};

// A value that may be absent; the unquoted `word` means absent.
template <typename Kind>
struct Maybe {
  Kind kind;
  std::string word;

  std::string type() const { return fmt::format("{}, or `{}`", kind.type(), word); }
  auto parse(const ConfigValue& value, const std::string& expected) const
      -> std::optional<decltype(kind.parse(value, expected))> {
    if (value.is_word(word)) return std::nullopt;
    return kind.parse(value, expected);
  }
  template <typename T>
  std::string format(const std::optional<T>& value) const {
    return value ? kind.format(*value) : word;
  }
};
template <typename Kind>
Maybe(Kind, const char*) -> Maybe<Kind>;

}  // namespace strata::config

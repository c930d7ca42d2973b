// One value of a YAML configuration: its place, its checks and its format.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace strata::config {

struct ConfigValue {
  YAML::Node node;
  std::string key;             // "optimizer.lr"
  std::string source;          // "run.yaml:12", or "--set"
  std::filesystem::path base;  // folder that relative paths start from
  bool is_resolved = false;    // written by to_yaml(): its path has no variable and no pattern

  // Throws Error with the message that this value is not `expected`.
  [[noreturn]] void reject(std::string_view expected) const;

  // Returns whether this is an unquoted scalar equal to `word`.
  bool is_word(std::string_view word) const;

  // Each of these throws Error if the value has another type. `expected` describes the right one.
  std::string text(std::string_view expected) const;
  int64_t integer(std::string_view expected) const;
  double number(std::string_view expected) const;
  bool flag(std::string_view expected) const;
  // Returns an absolute path. `~` and `~/...` are below HOME. Throws Error for `~NAME`, `$X` and
  // patterns, unless a file has exactly that name.
  std::filesystem::path path(std::string_view expected) const;
  // Returns the elements of a list; a scalar is a list of one.
  std::vector<ConfigValue> list(std::string_view expected) const;
};

// Returns a text as a YAML scalar that reads back as the same text.
std::string yaml_text(std::string_view text);

// Returns a number in its shortest form that reads back as the same number.
std::string shortest(double value);

}  // namespace strata::config

// One value of a YAML configuration: where it stands, what it must be, how it is written.
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
  std::filesystem::path base;  // what relative paths are relative to
  bool is_resolved = false;    // written by to_yaml(): a path is no variable and no pattern

  // Throws Error: this value is not `expected`.
  [[noreturn]] void reject(std::string_view expected) const;

  // An unquoted scalar equal to `word`.
  bool is_word(std::string_view word) const;

  // Each throws Error where the value is of another type. `expected` is what the message asks for.
  std::string text(std::string_view expected) const;
  int64_t integer(std::string_view expected) const;
  double number(std::string_view expected) const;
  bool flag(std::string_view expected) const;
  // An absolute path. `~` and `~/...` are below HOME; `~NAME`, `$X` and patterns are an Error,
  // except where a file of that very name is there.
  std::filesystem::path path(std::string_view expected) const;
  // The elements of a list; a scalar is a list of one.
  std::vector<ConfigValue> list(std::string_view expected) const;
};

// A text as a YAML scalar that reads back as the same text.
std::string yaml_text(std::string_view text);

// A number in its shortest form that reads back as the same number.
std::string shortest(double value);

}  // namespace strata::config

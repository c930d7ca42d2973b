#include "config/config_kinds.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace strata::config {

std::string Number::type() const {
  const std::string lower =
      fmt::format("{} {}", low_bound == Bound::kIncluded ? "of at least" : "above", low);
  if (high_bound == Bound::kNone) return "a number " + lower;
  return fmt::format("a number {} and {} {}", lower,
                     high_bound == Bound::kIncluded ? "at most" : "below", high);
}

double Number::parse(const ConfigValue& value, const std::string& expected) const {
  const double number = value.number(expected);
  const bool high_enough = low_bound == Bound::kIncluded ? number >= low : number > low;
  const bool low_enough = high_bound == Bound::kNone       ? true
                          : high_bound == Bound::kIncluded ? number <= high
                                                           : number < high;
  if (!high_enough || !low_enough) value.reject(expected);
  return number;
}

std::string FileName::parse(const ConfigValue& value, const std::string& expected) const {
  const std::string text = value.text(expected);
  const bool printable = std::all_of(text.begin(), text.end(), [](char c) {
    return c != '/' && static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (text.empty() || text.front() == '.' || text.size() > 200 || !printable)
    value.reject(expected);
  return text;
}

std::string PresetOrPath::type() const {
  std::string names;
  for (const std::string& preset : presets) names += fmt::format("`{}`, ", preset);
  return names + "or a path";
}

std::string PresetOrPath::parse(const ConfigValue& value, const std::string& expected) const {
  for (const std::string& preset : presets) {
    if (value.is_word(preset)) return preset;
  }
  return value.path(expected).string();
}

std::string PresetOrPath::format(const std::string& text) const {
  const bool preset = std::find(presets.begin(), presets.end(), text) != presets.end();
  return preset ? text : yaml_text(text);
}

std::vector<std::filesystem::path> Paths::parse(const ConfigValue& value,
                                                const std::string& expected) const {
  std::vector<std::filesystem::path> paths;
  for (const ConfigValue& element : value.list(expected)) paths.push_back(element.path(expected));
  return paths;
}

std::string Paths::format(const std::vector<std::filesystem::path>& paths) const {
  std::string list;
  for (const std::filesystem::path& path : paths) {
    list += (list.empty() ? "" : ", ") + yaml_text(path.string());
  }
  return "[" + list + "]";
}

std::vector<int> RisingIntegers::parse(const ConfigValue& value,
                                       const std::string& expected) const {
  std::vector<int> numbers;
  for (const ConfigValue& element : value.list(expected)) {
    const int64_t number = element.integer(expected);
    if (number <= (numbers.empty() ? 0 : numbers.back()) || number > high) value.reject(expected);
    numbers.push_back(static_cast<int>(number));
  }
  return numbers;
}

std::string RisingIntegers::format(const std::vector<int>& numbers) const {
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}

namespace {

bool is_plain_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-';
  });
}

}  // namespace

std::string BackendOptionValues::meanings() const {
  std::string list;
  for (const device::BackendKind& kind : device::backend_kinds()) {
    for (const device::BackendOption& option : kind.options) {
      list += fmt::format("{}{}'s `{}`: {}", list.empty() ? "" : " ", kind.name, option.name,
                          option.meaning);
      for (const auto& [name, meaning] : option.values) {
        list += fmt::format("{} `{}`: {}", &option.values.front().name == &name ? "" : ";", name,
                            meaning);
      }
      if (option.values.empty()) {
        list += fmt::format(" A whole number from 0 (the default) to {}", option.most);
      }
      list += '.';
    }
  }
  return list;
}

device::OptionValues BackendOptionValues::parse(const ConfigValue& value,
                                                const std::string& expected) const {
  device::OptionValues values;
  if (value.node.IsNull()) return values;
  if (!value.node.IsMap()) value.reject(expected);
  for (const auto& entry : value.node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) value.reject(expected);
    if (!is_plain_name(entry.first.Scalar()) || !is_plain_name(entry.second.Scalar())) {
      fail(
          "{}: {}: {}: {} is not a valid option; names and values have only letters, digits, '_' "
          "and '-'",
          value.source, value.key, yaml_text(entry.first.Scalar()),
          yaml_text(entry.second.Scalar()));
    }
    if (!values.emplace(entry.first.Scalar(), entry.second.Scalar()).second) {
      fail("{}: {}: {} is given twice; keep one", value.source, value.key, entry.first.Scalar());
    }
  }
  return values;
}

std::string BackendOptionValues::format(const device::OptionValues& values) const {
  std::string list;
  for (const auto& [name, value] : values) {
    list += fmt::format("{}{}: {}", list.empty() ? "" : ", ", yaml_text(name), yaml_text(value));
  }
  return "{" + list + "}";
}

}  // namespace strata::config

#include "config/config_value.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace strata::config {
namespace {

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

std::string shown(const YAML::Node& node) {
  if (node.IsMap()) return "a section";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return is_quoted(node) ? yaml_text(node.Scalar()) : "'" + node.Scalar() + "'";
}

// The whole of an unquoted scalar as a number of type T.
template <typename T>
bool parse(const YAML::Node& node, T& value) {
  if (!node.IsScalar() || is_quoted(node)) return false;
  const std::string& text = node.Scalar();
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

}  // namespace

void ConfigValue::reject(std::string_view expected) const {
  fail("{}: {}: {} is not {}", source, key, shown(node), expected);
}

bool ConfigValue::is_word(std::string_view word) const {
  return node.IsScalar() && !is_quoted(node) && node.Scalar() == word;
}

std::string ConfigValue::text(std::string_view expected) const {
  if (!node.IsScalar()) reject(expected);
  return node.Scalar();
}

int64_t ConfigValue::integer(std::string_view expected) const {
  int64_t value = 0;
  if (!parse(node, value)) reject(expected);
  return value;
}

double ConfigValue::number(std::string_view expected) const {
  double value = 0;
  if (!parse(node, value) || !std::isfinite(value)) reject(expected);
  return value;
}

bool ConfigValue::flag(std::string_view expected) const {
  if (is_word("true")) return true;
  if (is_word("false")) return false;
  reject(expected);
}

std::filesystem::path ConfigValue::path(std::string_view expected) const {
  const std::string name = text(expected);
  if (name.empty() || name.find('\0') != std::string::npos) reject(expected);
  return (base / name).lexically_normal();
}

std::vector<ConfigValue> ConfigValue::list(std::string_view expected) const {
  if (node.IsScalar()) return {*this};
  if (!node.IsSequence() || node.size() == 0) reject(expected);
  std::vector<ConfigValue> elements;
  for (const YAML::Node& element : node) elements.push_back({element, key, source, base});
  return elements;
}

std::string yaml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string shortest(double value) { return fmt::format("{}", value); }

}  // namespace strata::config

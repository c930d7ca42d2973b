#include "config/config_value.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/text/from_chars.h"

namespace strata::config {
namespace {

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

// Returns a list of few scalars as in the file, else "a list".
std::string shown_list(const YAML::Node& node) {
  constexpr size_t kMostShown = 8;
  if (node.size() > kMostShown) return "a list";
  std::string text = "[";
  for (const YAML::Node& element : node) {
    if (!element.IsScalar()) return "a list";
    if (text.size() > 1) text += ", ";
    text += is_quoted(element) ? yaml_text(element.Scalar()) : element.Scalar();
  }
  return text + "]";
}

std::string shown(const YAML::Node& node) {
  if (node.IsMap()) return "a section";
  if (node.IsSequence()) return shown_list(node);
  if (!node.IsScalar()) return "nothing";
  return is_quoted(node) ? yaml_text(node.Scalar()) : "'" + node.Scalar() + "'";
}

// Parses a whole unquoted scalar as a number of type T.
template <typename T>
bool parse(const YAML::Node& node, T& value) {
  if (!node.IsScalar() || is_quoted(node)) return false;
  const std::string& text = node.Scalar();
  const char* end = text.data() + text.size();
  const auto [stop, error] = from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

// Returns the part of the path `name` that does not exist, from its first missing component on, or
// an empty text if the whole path exists.
std::string missing_end(const std::filesystem::path& base, const std::string& name) {
  std::filesystem::path path = base, missing;
  for (const std::filesystem::path& part : std::filesystem::path(name)) {
    path /= part;
    std::error_code ignored;
    if (!missing.empty() ||
        !std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) {
      missing /= part;
    }
  }
  return missing.string();
}

// Returns whether a shell would see a variable in the path: $X or ${X.
bool has_variable(std::string_view path) {
  for (size_t at = path.find('$'); at != std::string_view::npos; at = path.find('$', at + 1)) {
    const unsigned char next = at + 1 < path.size() ? path[at + 1] : ' ';
    if (std::isalpha(next) || next == '_' || next == '{') return true;
  }
  return false;
}

// Returns whether a shell would take the path for a pattern.
bool is_pattern(std::string_view path) {
  const size_t begin = path.find('[');
  return path.find_first_of("*?") != std::string_view::npos ||
         (begin != std::string_view::npos && path.find(']', begin) != std::string_view::npos);
}

std::string home_directory(const ConfigValue& value) {
  const char* home = std::getenv("HOME");
  if (!home || *home != '/') {
    fail("{}: {}: '~' stands for the home directory, but HOME is not set; give the full path",
         value.source, value.key);
  }
  return home;
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
  std::string name = text(expected);
  if (name.empty() || name.find('\0') != std::string::npos) reject(expected);
  const std::string missing = missing_end(base, name);
  if (name.front() == '~' && missing.starts_with('~')) {
    if (name.size() > 1 && name[1] != '/') {
      fail(
          "{}: {}: {}: '~' before a name is not expanded; give the full path, or ./{} for a file "
          "of that name",
          source, key, shown(node), name);
    }
    name = home_directory(*this) + name.substr(1);
  } else if (!is_resolved && has_variable(missing)) {
    fail(
        "{}: {}: {}: variables are not expanded; give the value itself, or use --set, where the "
        "shell expands them",
        source, key, shown(node));
  } else if (!is_resolved && is_pattern(missing)) {
    fail(
        "{}: {}: {}: patterns are not expanded, and there is no file of that name; write the name "
        "out (data.train and data.eval take lists and folders)",
        source, key, shown(node));
  }
  return (base / name).lexically_normal();
}

std::vector<ConfigValue> ConfigValue::list(std::string_view expected) const {
  if (node.IsScalar()) return {*this};
  if (!node.IsSequence() || node.size() == 0) reject(expected);
  std::vector<ConfigValue> elements;
  for (const YAML::Node& element : node) {
    elements.push_back({element, key, source, base, is_resolved});
  }
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

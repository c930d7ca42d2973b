#include "mllog/log_value.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <type_traits>

#include "base/error.h"
#include "base/text/from_chars.h"
#include "base/text/trim.h"
#include "mllog/json_scan.h"

namespace strata::mllog {
namespace {

std::string dump(const nlohmann::json& json) {
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Throws Error unless `text` is one JSON value, with optional space around it.
void check_json(std::string_view text) {
  JsonScanner scanner(text);
  scanner.skip_space();
  if (!scanner.skip_value()) {
    fail("not JSON: {} at byte {}", scanner.error(), scanner.position());
  }
  scanner.skip_space();
  if (!scanner.at_end())
    fail("not JSON: extra data after the value, at byte {}", scanner.position());
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 128; }

// Returns the JSON on one line, with non-ASCII characters escaped; they occur only in strings.
std::string plain_json(std::string_view text) {
  check_json(text);
  std::string plain;
  for (size_t at = 0; at < text.size();) {
    if (is_ascii(text[at])) {
      plain += text[at] == '\n' || text[at] == '\r' ? ' ' : text[at];
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && !is_ascii(text[end])) ++end;
    const std::string quoted = dump(std::string(text.substr(at, end - at)));
    plain += std::string_view(quoted).substr(1, quoted.size() - 2);
    at = end;
  }
  return plain;
}

template <typename Number>
std::optional<Number> whole_text_as(std::string_view text) {
  Number value = 0;
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string to_json(const EventValue& value) {
  if (const Json* json = std::get_if<Json>(&value)) return plain_json(json->text);
  const nlohmann::json json = std::visit(
      [](const auto& held) -> nlohmann::json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate> || std::is_same_v<Held, Json>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
  return dump(json);
}

EventValue parse_value(std::string_view json) {
  check_json(json);
  json = trimmed(json);
  switch (json.front()) {
    case 'n':
      return {};
    case 't':
      return true;
    case 'f':
      return false;
    case '"':
      return decode_json_string(json.substr(1, json.size() - 2));
    case '{':
    case '[':
      return Json{std::string(json)};
    default:
      if (const auto value = whole_text_as<int64_t>(json)) return *value;
      if (const auto value = whole_text_as<uint64_t>(json)) return *value;
      return std::strtod(std::string(json).c_str(), nullptr);  // also reads NaN and Infinity
  }
}

std::optional<double> finite_number(std::string_view json) {
  const auto number = whole_text_as<double>(json);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::string_view> find_field(std::string_view object, std::string_view name) {
  JsonScanner scanner(object);
  std::optional<std::string_view> found;
  scanner.skip_space();
  if (!scanner.consume('{')) return std::nullopt;
  scanner.skip_space();
  while (scanner.peek() == '"') {
    std::string_view member, value;
    bool plain;
    if (!scanner.skip_string(member, plain)) return std::nullopt;
    scanner.skip_space();
    if (!scanner.consume(':')) return std::nullopt;
    scanner.skip_space();
    if (!scanner.skip_value(value, 1)) return std::nullopt;
    if (plain ? member == name : decode_json_string(member) == name) found = value;
    scanner.skip_space();
    if (!scanner.consume(',')) break;
    scanner.skip_space();
  }
  return scanner.consume('}') ? found : std::nullopt;
}

}  // namespace strata::mllog

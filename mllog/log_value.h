// The values of a log's events, to be written and as read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace strata::mllog {

// A JSON text, for a list or an object.
struct Json {
  std::string text;
  bool operator==(const Json&) const = default;
};

// A JSON value; monostate is null. A double that is no number (NaN, infinity) is written as null.
using EventValue = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Json>;

struct EventField {
  std::string_view key;
  EventValue value;
};
using EventMetadata = std::vector<EventField>;

// The value as JSON of ASCII characters on one line. Bytes that are no UTF-8 become U+FFFD. Throws
// Error where a Json is none.
std::string to_json(const EventValue& value);

// The value of a JSON text, as an event's `value` is: an integer that int64_t does not hold is
// uint64_t or else double; lists and objects stay Json. A byte above 127 is taken as Latin-1, as
// the official checker does. Throws Error where it is no JSON.
EventValue parse_value(std::string_view json);

// The value's JSON of a member of an object, as an event's `metadata` is; of several of one name
// the last. Empty where there is none, or no object.
std::optional<std::string_view> find_field(std::string_view object, std::string_view name);

}  // namespace strata::mllog

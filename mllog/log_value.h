// The values of a log's events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace strata::mllog {

// The JSON text of a list or an object.
struct Json {
  std::string text;
  bool operator==(const Json&) const = default;
};

// A JSON value; monostate is null. NaN and infinity are written as null.
using EventValue = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Json>;

struct EventField {
  std::string_view key;
  EventValue value;
};
using EventMetadata = std::vector<EventField>;

// Returns the value as ASCII JSON on one line. Bytes that are not UTF-8 become U+FFFD. Throws Error
// if a Json is not valid JSON.
std::string to_json(const EventValue& value);

// Parses a JSON text such as an event's `value`. An integer beyond int64_t becomes uint64_t or else
// double; lists and objects stay Json. Bytes above 127 are read as Latin-1, as in the official
// checker. Throws Error if the text is not JSON.
EventValue parse_value(std::string_view json);

// Returns the value of a JSON text that is a finite number; nullopt for any other value.
std::optional<double> finite_number(std::string_view json);

// Returns the JSON of an object's member, for example of an event's `metadata`; the last one if the
// name repeats. Returns nullopt if there is no such member or no object.
std::optional<std::string_view> find_field(std::string_view object, std::string_view name);

}  // namespace strata::mllog

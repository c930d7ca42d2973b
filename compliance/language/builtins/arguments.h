// The arguments that rule code gives to a builtin.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "compliance/language/builtins/rule_builtins.h"

namespace strata::compliance::builtins {

using Arguments = std::vector<Value>;
using Name = std::pair<std::string_view, Builtin>;

// Throws RuleError, naming `what`, unless there are `least` to `most` arguments.
void expect_count(const Arguments& arguments, size_t least, size_t most, std::string_view what);

// Counts the work of reading the arguments that are texts, among them integers beyond 64 bits.
void spend_texts(const Arguments& arguments, BuiltinHost& host);

// The builtin of `table` that has this name, as a value of `kind`.
template <size_t N>
std::optional<Value> find_in(const Name (&table)[N], std::string_view name, Kind kind) {
  for (const auto& [text, builtin] : table) {
    if (text == name) return Value::of_id(kind, static_cast<int>(builtin));
  }
  return std::nullopt;
}

}  // namespace strata::compliance::builtins

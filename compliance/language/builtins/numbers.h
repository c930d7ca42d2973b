// Conversions to numbers, and rounding.
#pragma once

#include <string_view>

#include "compliance/language/builtins/arguments.h"

namespace strata::compliance::builtins {

// An integral double as an int; beyond 64 bits its exact digits. Throws RuleError, naming `what`,
// if it is not finite.
Value integer_from(double real, BuiltinHost& host, std::string_view what);

Value to_float(const Arguments& arguments);
Value to_int(const Arguments& arguments, BuiltinHost& host);
Value round_value(const Arguments& arguments, BuiltinHost& host);
// Whether a number lies within 1e-5 of an integer.
bool is_integer(const Value& value);

}  // namespace strata::compliance::builtins

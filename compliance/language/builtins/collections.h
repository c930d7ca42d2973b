// Builtins that make collections, or take all elements of one.
#pragma once

#include "compliance/language/builtins/arguments.h"

namespace strata::compliance::builtins {

// list(), tuple() or set(), according to `kind`.
Value collect(const Arguments& arguments, Kind kind, BuiltinHost& host);
Value extreme(const Arguments& arguments, bool largest, BuiltinHost& host);
Value sorted(const Arguments& arguments, BuiltinHost& host);
Value length(const Value& value, BuiltinHost& host);
Value range(const Arguments& arguments, BuiltinHost& host);
Value sum(const Arguments& arguments, BuiltinHost& host);

}  // namespace strata::compliance::builtins

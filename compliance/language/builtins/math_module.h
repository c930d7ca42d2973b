// The functions of Python's module math.
#pragma once

#include "compliance/language/builtins/arguments.h"

namespace strata::compliance::builtins {

Value call_math(Builtin function, const Arguments& arguments, BuiltinHost& host);

}  // namespace strata::compliance::builtins

// Types as rule code names them and asks for them.
#pragma once

#include <optional>
#include <string_view>

#include "compliance/language/builtins/arguments.h"

namespace strata::compliance::builtins {

std::optional<Value> find_type(std::string_view name);
Value type_of(const Value& value);
bool is_instance(const Arguments& arguments);

}  // namespace strata::compliance::builtins

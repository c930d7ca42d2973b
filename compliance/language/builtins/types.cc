#include "compliance/language/builtins/types.h"

#include <algorithm>

namespace strata::compliance::builtins {
namespace {

// Types are called to convert and are compared by type() and isinstance(); their number is their
// constructor's.
constexpr Name kTypes[] = {{"bool", Builtin::kBool},   {"dict", Builtin::kDict},
                           {"float", Builtin::kFloat}, {"int", Builtin::kInt},
                           {"list", Builtin::kList},   {"set", Builtin::kSet},
                           {"str", Builtin::kStr},     {"tuple", Builtin::kTuple}};

bool has_type(const Value& value, Builtin type) {
  switch (type) {
    case Builtin::kBool:
      return value.kind() == Kind::kBool;
    case Builtin::kDict:
      return value.kind() == Kind::kDict;
    case Builtin::kFloat:
      return value.kind() == Kind::kFloat;
    case Builtin::kInt:
      return value.kind() == Kind::kInt || value.kind() == Kind::kBigInt ||
             value.kind() == Kind::kBool;
    case Builtin::kList:
      return value.kind() == Kind::kList || value.kind() == Kind::kEventList;
    case Builtin::kSet:
      return value.kind() == Kind::kSet;
    case Builtin::kStr:
      return value.kind() == Kind::kStr;
    case Builtin::kTuple:
      return value.kind() == Kind::kTuple;
    default:
      return false;
  }
}

}  // namespace

std::optional<Value> find_type(std::string_view name) { return find_in(kTypes, name, Kind::kType); }

Value type_of(const Value& value) {
  for (const auto& [name, builtin] : kTypes) {
    const bool bool_as_int = builtin == Builtin::kInt && value.kind() == Kind::kBool;
    if (has_type(value, builtin) && !bool_as_int)
      return Value::of_id(Kind::kType, static_cast<int>(builtin));
  }
  // Types that rules cannot name are told apart by their kind.
  return Value::of_id(Kind::kType, 1000 + static_cast<int>(value.kind()));
}

bool is_instance(const Arguments& arguments) {
  expect_count(arguments, 2, 2, "isinstance()");
  const Value& type = arguments[1];
  const auto matches = [&](const Value& candidate) {
    if (candidate.kind() != Kind::kType) throw RuleError("isinstance(): a type is expected");
    return has_type(arguments[0], static_cast<Builtin>(candidate.integer()));
  };
  if (type.kind() != Kind::kTuple) return matches(type);
  return std::any_of(type.items().begin(), type.items().end(), matches);
}

}  // namespace strata::compliance::builtins

#include "compliance/language/builtins/rule_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "compliance/language/builtins/arguments.h"
#include "compliance/language/builtins/collections.h"
#include "compliance/language/builtins/math_module.h"
#include "compliance/language/builtins/numbers.h"
#include "compliance/language/builtins/types.h"

namespace strata::compliance {
namespace builtins {
namespace {

constexpr Name kFunctions[] = {{"abs", Builtin::kAbs},
                               {"all", Builtin::kAll},
                               {"any", Builtin::kAny},
                               {"enqueue_config", Builtin::kEnqueueConfig},
                               {"is_integer", Builtin::kIsInteger},
                               {"isinstance", Builtin::kIsInstance},
                               {"len", Builtin::kLen},
                               {"max", Builtin::kMax},
                               {"min", Builtin::kMin},
                               {"print", Builtin::kPrint},
                               {"range", Builtin::kRange},
                               {"round", Builtin::kRound},
                               {"sorted", Builtin::kSorted},
                               {"sum", Builtin::kSum},
                               {"type", Builtin::kType}};

Value to_string(const Arguments& arguments, BuiltinHost& host) {
  const std::string text = arguments.empty() ? std::string() : to_str(arguments[0]);
  host.heap().spend_text(text.size());
  return host.heap().str(text);
}

Value copy_line(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 1, 1, "replace()");
  if (arguments[0].kind() != Kind::kLine) throw RuleError("replace(): a log line is expected");
  const Line& from = arguments[0].line();
  const size_t bytes = from.full_string.size() + from.key.size();
  host.heap().charge(bytes);
  host.heap().spend_text(bytes);
  Value copy = host.heap().line();
  Line& line = copy.line();
  line.key = from.key;
  line.full_string = from.full_string;
  line.timestamp = from.timestamp;
  line.lineno = from.lineno;
  line.value = from.value;
  return copy;
}

}  // namespace
}  // namespace builtins

std::optional<Value> find_builtin(std::string_view name) {
  if (name == "math") return Value::of_id(Kind::kModule, 0);
  if (auto function = builtins::find_in(builtins::kFunctions, name, Kind::kFunction))
    return function;
  return builtins::find_type(name);
}

std::optional<Value> find_import(std::string_view module, std::string_view name) {
  if (module == "dataclasses" && name == "replace") {
    return Value::of_id(Kind::kFunction, static_cast<int>(Builtin::kReplace));
  }
  if (module == "math") return find_math(name);
  return std::nullopt;
}

Value call_builtin(Builtin function, std::vector<Value>& arguments, BuiltinHost& host) {
  using namespace builtins;
  spend_texts(arguments, host);
  if (function >= Builtin::kMathCeil) return call_math(function, arguments, host);
  switch (function) {
    case Builtin::kAbs: {
      expect_count(arguments, 1, 1, "abs()");
      const Value& value = arguments[0];
      if (value.kind() == Kind::kInt && value.integer() != std::numeric_limits<int64_t>::min()) {
        return Value::of_int(std::abs(value.integer()));
      }
      if (value.kind() == Kind::kBool) return Value::of_int(value.integer());
      return Value::of_float(std::fabs(to_double(value, "abs()")));
    }
    case Builtin::kAll:
    case Builtin::kAny: {
      expect_count(arguments, 1, 1, "all() or any()");
      const Arguments items = elements(arguments[0], host);
      return Value::of_bool(function == Builtin::kAll
                                ? std::all_of(items.begin(), items.end(), truthy)
                                : std::any_of(items.begin(), items.end(), truthy));
    }
    case Builtin::kBool:
      expect_count(arguments, 0, 1, "bool()");
      return Value::of_bool(!arguments.empty() && truthy(arguments[0]));
    case Builtin::kDict: {
      expect_count(arguments, 0, 1, "dict()");
      Value copy = host.heap().dict();
      if (!arguments.empty()) {
        if (arguments[0].kind() != Kind::kDict) throw RuleError("dict(): a dictionary is expected");
        call_method(copy, "update", arguments, host);
      }
      return copy;
    }
    case Builtin::kEnqueueConfig:
      expect_count(arguments, 1, 1, "enqueue_config()");
      if (arguments[0].kind() != Kind::kStr)
        throw RuleError("enqueue_config(): a file name is expected");
      host.enqueue_config(arguments[0].text());
      return Value();
    case Builtin::kFloat:
      return to_float(arguments);
    case Builtin::kInt:
      return to_int(arguments, host);
    case Builtin::kIsInteger:
      expect_count(arguments, 1, 1, "is_integer()");
      return Value::of_bool(is_integer(arguments[0]));
    case Builtin::kIsInstance:
      return Value::of_bool(is_instance(arguments));
    case Builtin::kLen:
      expect_count(arguments, 1, 1, "len()");
      return length(arguments[0], host);
    case Builtin::kList:
      return collect(arguments, Kind::kList, host);
    case Builtin::kMax:
    case Builtin::kMin:
      expect_count(arguments, 1, 1000, "min() or max()");
      return extreme(arguments, function == Builtin::kMax, host);
    case Builtin::kPrint:
      return Value();  // rules print scores; a check prints its own
    case Builtin::kRange:
      return range(arguments, host);
    case Builtin::kReplace:
      return copy_line(arguments, host);
    case Builtin::kRound:
      return round_value(arguments, host);
    case Builtin::kSet:
      return collect(arguments, Kind::kSet, host);
    case Builtin::kSorted:
      return sorted(arguments, host);
    case Builtin::kStr:
      expect_count(arguments, 0, 1, "str()");
      return to_string(arguments, host);
    case Builtin::kSum:
      return sum(arguments, host);
    case Builtin::kTuple:
      return collect(arguments, Kind::kTuple, host);
    default:
      expect_count(arguments, 1, 1, "type()");
      return type_of(arguments[0]);
  }
}

}  // namespace strata::compliance

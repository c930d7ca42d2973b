// The functions, modules and types that rule code may name.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compliance/language/values/rule_value.h"

namespace strata::compliance {

enum class Builtin {
  kAbs,
  kAll,
  kAny,
  kBool,
  kDict,
  kEnqueueConfig,
  kFloat,
  kInt,
  kIsInteger,
  kIsInstance,
  kLen,
  kList,
  kMax,
  kMin,
  kPrint,
  kRange,
  kReplace,
  kRound,
  kSet,
  kSorted,
  kStr,
  kSum,
  kTuple,
  kType,
  kMathCeil,
  kMathExp,
  kMathFabs,
  kMathFloor,
  kMathIsClose,
  kMathIsFinite,
  kMathIsInf,
  kMathIsNan,
  kMathLog,
  kMathLog10,
  kMathLog2,
  kMathPow,
  kMathSqrt,
};

// Returns the constant that a free name stands for: a function, a type or a module.
std::optional<Value> find_builtin(std::string_view name);
// math.NAME: a function or a number.
std::optional<Value> find_math(std::string_view name);
// `from MODULE import NAME`.
std::optional<Value> find_import(std::string_view module, std::string_view name);

// The services of the evaluator that builtins use.
class BuiltinHost {
 public:
  virtual ~BuiltinHost() = default;
  virtual Heap& heap() = 0;
  // Counts work; throws RuleBudgetError beyond the limit.
  virtual void spend(size_t steps) = 0;
  virtual void enqueue_config(std::string_view name) = 0;
  virtual size_t event_count() = 0;
  virtual void append_event(const Value& line) = 0;
};

// Throws RuleError as Python would throw.
Value call_builtin(Builtin function, std::vector<Value>& arguments, BuiltinHost& host);
// `object.name(arguments)`.
Value call_method(const Value& object, std::string_view name, std::vector<Value>& arguments,
                  BuiltinHost& host);
// The elements of anything that can be iterated over, except `loglines`.
std::vector<Value> elements(const Value& iterable, BuiltinHost& host);

}  // namespace strata::compliance

#include "compliance/language/rule_builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <utility>

#include "base/text/counts.h"

namespace strata::compliance {
namespace {

using Arguments = std::vector<Value>;

constexpr std::pair<std::string_view, Builtin> kFunctions[] = {
    {"abs", Builtin::kAbs},
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

// Types are called to convert and are compared by type() and isinstance(); their number is their
// constructor's.
constexpr std::pair<std::string_view, Builtin> kTypes[] = {
    {"bool", Builtin::kBool}, {"dict", Builtin::kDict},  {"float", Builtin::kFloat},
    {"int", Builtin::kInt},   {"list", Builtin::kList},  {"set", Builtin::kSet},
    {"str", Builtin::kStr},   {"tuple", Builtin::kTuple}};

constexpr std::pair<std::string_view, Builtin> kMath[] = {
    {"ceil", Builtin::kMathCeil},       {"exp", Builtin::kMathExp},
    {"fabs", Builtin::kMathFabs},       {"floor", Builtin::kMathFloor},
    {"isclose", Builtin::kMathIsClose}, {"isfinite", Builtin::kMathIsFinite},
    {"isinf", Builtin::kMathIsInf},     {"isnan", Builtin::kMathIsNan},
    {"log", Builtin::kMathLog},         {"log10", Builtin::kMathLog10},
    {"log2", Builtin::kMathLog2},       {"pow", Builtin::kMathPow},
    {"sqrt", Builtin::kMathSqrt}};

template <size_t N>
std::optional<Value> find_in(const std::pair<std::string_view, Builtin> (&table)[N],
                             std::string_view name, Kind kind) {
  for (const auto& [text, builtin] : table) {
    if (text == name) return Value::of_id(kind, static_cast<int>(builtin));
  }
  return std::nullopt;
}

void expect_count(const Arguments& arguments, size_t least, size_t most, std::string_view what) {
  if (arguments.size() < least || arguments.size() > most) {
    throw RuleError(fmt::format("{}: {} given", what, counted(arguments.size(), "argument")));
  }
}

bool boolean_is_type(const Value& value, Builtin type) {
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

Value type_of(const Value& value) {
  for (const auto& [name, builtin] : kTypes) {
    const bool bool_as_int = builtin == Builtin::kInt && value.kind() == Kind::kBool;
    if (boolean_is_type(value, builtin) && !bool_as_int)
      return Value::of_id(Kind::kType, static_cast<int>(builtin));
  }
  // Types that rules cannot name are told apart by their kind.
  return Value::of_id(Kind::kType, 1000 + static_cast<int>(value.kind()));
}

// Of writing all digits that a double may have.
constexpr size_t kDigitsSteps = 1000;

// An integral double as an int; beyond 64 bits its exact digits.
Value integer_from(double real, BuiltinHost& host, std::string_view what) {
  if (!std::isfinite(real))
    throw RuleError(fmt::format("{}: cannot convert {} to an integer", what, real));
  if (real >= -9.2e18 && real <= 9.2e18) return Value::of_int(static_cast<int64_t>(real));
  host.spend(kDigitsSteps);
  return host.heap().big_int(fmt::format("{:.0f}", real));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

Value to_float(const Arguments& arguments) {
  expect_count(arguments, 0, 1, "float()");
  if (arguments.empty()) return Value::of_float(0);
  if (arguments[0].kind() != Kind::kStr) return Value::of_float(to_double(arguments[0], "float()"));
  std::string_view text = trim(arguments[0].text());
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double real = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (error == std::errc::result_out_of_range)
    real = std::strtod(std::string(text).c_str(), nullptr);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) {
    throw RuleError(
        fmt::format("float(): '{}' is not a number", arguments[0].text().substr(0, 60)));
  }
  return Value::of_float(real);
}

Value to_int(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 0, 1, "int()");
  if (arguments.empty()) return Value::of_int(0);
  const Value& value = arguments[0];
  switch (value.kind()) {
    case Kind::kBool:
      return Value::of_int(value.integer());
    case Kind::kInt:
    case Kind::kBigInt:
      return value;
    case Kind::kFloat:
      return integer_from(std::trunc(value.real()), host, "int()");
    case Kind::kStr: {
      std::string_view text = trim(value.text());
      if (!text.empty() && text.front() == '+') text.remove_prefix(1);
      int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error == std::errc() && end == text.data() + text.size()) return Value::of_int(number);
      throw RuleError(
          fmt::format("int(): '{}' is not a 64-bit integer", value.text().substr(0, 60)));
    }
    default:
      throw RuleError(fmt::format("int(): cannot convert {}", type_name(value)));
  }
}

// Half to even, as Python rounds.
double round_half_even(double real) { return std::nearbyint(real); }

Value round_value(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 1, 2, "round()");
  const Value& value = arguments[0];
  if (value.kind() == Kind::kInt || value.kind() == Kind::kBigInt) return value;
  if (value.kind() == Kind::kBool) return Value::of_int(value.integer());
  const double real = to_double(value, "round()");
  if (arguments.size() == 1) return integer_from(round_half_even(real), host, "round()");
  const double digits = to_double(arguments[1], "round()");
  if (digits < -300 || digits > 300 || !std::isfinite(real)) return Value::of_float(real);
  host.spend(kDigitsSteps);
  const std::string text = fmt::format("{:.{}f}", real, std::max(0, static_cast<int>(digits)));
  return Value::of_float(std::strtod(text.c_str(), nullptr));
}

bool is_integer(const Value& value) {
  const Kind kind = value.kind();
  if (kind == Kind::kInt || kind == Kind::kBigInt || kind == Kind::kBool) return true;
  const double real = to_double(value, "is_integer()");
  if (!std::isfinite(real)) throw RuleError("is_integer(): the value is not finite");
  return std::fabs(round_half_even(real) - real) < 0.00001;
}

int ordered(const Value& a, const Value& b, Heap& heap) {
  const int order = compare(a, b, heap);
  return order == 2 ? 0 : order;
}

Value extreme(const Arguments& arguments, bool largest, BuiltinHost& host) {
  const Arguments items = arguments.size() == 1 ? elements(arguments[0], host) : arguments;
  if (items.empty()) throw RuleError(fmt::format("{}() of nothing", largest ? "max" : "min"));
  const Value* best = &items[0];
  for (const Value& item : items) {
    host.spend(1);
    const int order = ordered(item, *best, host.heap());
    if (largest ? order > 0 : order < 0) best = &item;
  }
  return *best;
}

Value sorted(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 1, 1, "sorted()");
  Arguments items = elements(arguments[0], host);
  // All comparable to the first is what makes the order below one that std::sort may rely on; NaN
  // is refused.
  for (const Value& item : items) {
    if (compare(items[0], item, host.heap()) == 2 || compare(item, item, host.heap()) == 2)
      throw RuleError("sorted(): NaN has no order");
  }
  host.spend(items.size() * 8);
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    host.spend(1);
    return compare(a, b, host.heap()) < 0;
  });
  Value list = host.heap().list();
  host.heap().charge(items.size() * sizeof(Value));
  list.items() = std::move(items);
  return list;
}

Value length(const Value& value, BuiltinHost& host) {
  switch (value.kind()) {
    case Kind::kStr:
      host.heap().spend_text(value.text().size());
      return Value::of_int(static_cast<int64_t>(code_points(value.text())));
    case Kind::kList:
    case Kind::kTuple:
      return Value::of_int(static_cast<int64_t>(value.items().size()));
    case Kind::kDict:
    case Kind::kSet:
      return Value::of_int(static_cast<int64_t>(value.dict().entries.size()));
    case Kind::kEventList:
      return Value::of_int(static_cast<int64_t>(host.event_count()));
    default:
      throw RuleError(fmt::format("len(): {} has no length", type_name(value)));
  }
}

Value range(const Arguments& arguments, BuiltinHost& host) {
  constexpr int64_t kMost = 1'000'000;
  expect_count(arguments, 1, 2, "range()");
  for (const Value& argument : arguments) {
    if (argument.kind() != Kind::kInt) throw RuleError("range(): integers are expected");
  }
  const int64_t first = arguments.size() == 2 ? arguments[0].integer() : 0;
  const int64_t last = arguments.back().integer();
  if (last > first && (first < -kMost || last > kMost)) throw RuleBudgetError("range(): too long");
  Value list = host.heap().list();
  for (int64_t i = first; i < last; ++i) {
    host.spend(1);
    host.heap().charge(sizeof(Value));
    list.items().push_back(Value::of_int(i));
  }
  return list;
}

Value sum(const Arguments& arguments, BuiltinHost& host) {
  expect_count(arguments, 1, 1, "sum()");
  int64_t integer = 0;
  double real = 0;
  bool all_integers = true;
  for (const Value& item : elements(arguments[0], host)) {
    const bool small = item.kind() == Kind::kInt || item.kind() == Kind::kBool;
    all_integers =
        all_integers && small && !__builtin_add_overflow(integer, item.integer(), &integer);
    if (item.kind() == Kind::kBigInt) host.heap().spend_text(item.text().size());
    real += to_double(item, "sum()");
  }
  return all_integers ? Value::of_int(integer) : Value::of_float(real);
}

bool is_instance(const Arguments& arguments) {
  expect_count(arguments, 2, 2, "isinstance()");
  const Value& type = arguments[1];
  const auto matches = [&](const Value& candidate) {
    if (candidate.kind() != Kind::kType) throw RuleError("isinstance(): a type is expected");
    return boolean_is_type(arguments[0], static_cast<Builtin>(candidate.integer()));
  };
  if (type.kind() != Kind::kTuple) return matches(type);
  return std::any_of(type.items().begin(), type.items().end(), matches);
}

Value to_string(const Arguments& arguments, BuiltinHost& host) {
  const std::string text = arguments.empty() ? std::string() : to_str(arguments[0]);
  host.heap().spend_text(text.size());
  return host.heap().str(text);
}

// Numbers may be texts, as argument or by their size.
void spend_texts(const Arguments& arguments, BuiltinHost& host) {
  for (const Value& argument : arguments) {
    if (argument.kind() == Kind::kStr || argument.kind() == Kind::kBigInt)
      host.heap().spend_text(argument.text().size());
  }
}

Value collect(const Arguments& arguments, Kind kind, BuiltinHost& host) {
  expect_count(arguments, 0, 1, type_name(Value::of_id(Kind::kType, 0)));
  const Arguments items = arguments.empty() ? Arguments() : elements(arguments[0], host);
  if (kind == Kind::kSet) {
    Value set = host.heap().dict(Kind::kSet);
    for (const Value& item : items) set.dict().insert(item);
    return set;
  }
  Value list = host.heap().list(kind);
  host.heap().charge(items.size() * sizeof(Value));
  list.items() = items;
  return list;
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

bool is_close(const Arguments& arguments) {
  constexpr double kRelative = 1e-9;
  expect_count(arguments, 2, 2, "math.isclose()");
  const double a = to_double(arguments[0], "math.isclose()");
  const double b = to_double(arguments[1], "math.isclose()");
  if (a == b) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::fabs(a - b) <= kRelative * std::max(std::fabs(a), std::fabs(b));
}

Value power(double x, double y) {
  const double result = std::pow(x, y);
  if (!std::isfinite(result) && std::isfinite(x) && std::isfinite(y))
    throw RuleError("math.pow(): the result is out of range");
  return Value::of_float(result);
}

// Both logarithms need a positive number, and the base another than 1.
Value logarithm(double x, double base) {
  if (x <= 0 || base <= 0 || base == 1) throw RuleError("math.log(): there is no such logarithm");
  return Value::of_float(std::log(x) / std::log(base));
}

Value call_math(Builtin function, const Arguments& arguments, BuiltinHost& host) {
  constexpr std::string_view kWhat = "math";
  if (function == Builtin::kMathIsClose) return Value::of_bool(is_close(arguments));
  if (function == Builtin::kMathPow || (function == Builtin::kMathLog && arguments.size() == 2)) {
    expect_count(arguments, 2, 2, kWhat);
  } else {
    expect_count(arguments, 1, 1, kWhat);
  }
  const double x = to_double(arguments[0], kWhat);
  const auto positive = [&] {
    if (x <= 0) throw RuleError("math: the logarithm needs a positive number");
    return x;
  };
  const auto finite = [&](double result) {
    if (!std::isfinite(result) && std::isfinite(x))
      throw RuleError("math: the result is out of range");
    return Value::of_float(result);
  };
  switch (function) {
    case Builtin::kMathCeil:
      return arguments[0].kind() == Kind::kInt ? arguments[0]
                                               : integer_from(std::ceil(x), host, "math.ceil()");
    case Builtin::kMathFloor:
      return arguments[0].kind() == Kind::kInt ? arguments[0]
                                               : integer_from(std::floor(x), host, "math.floor()");
    case Builtin::kMathExp:
      return finite(std::exp(x));
    case Builtin::kMathFabs:
      return Value::of_float(std::fabs(x));
    case Builtin::kMathIsFinite:
      return Value::of_bool(std::isfinite(x));
    case Builtin::kMathIsInf:
      return Value::of_bool(std::isinf(x));
    case Builtin::kMathIsNan:
      return Value::of_bool(std::isnan(x));
    case Builtin::kMathLog:
      if (arguments.size() == 2) return logarithm(x, to_double(arguments[1], kWhat));
      return Value::of_float(std::log(positive()));
    case Builtin::kMathLog10:
      return Value::of_float(std::log10(positive()));
    case Builtin::kMathLog2:
      return Value::of_float(std::log2(positive()));
    case Builtin::kMathPow:
      return power(x, to_double(arguments[1], kWhat));
    default:
      if (x < 0) throw RuleError("math.sqrt(): the number is negative");
      return Value::of_float(std::sqrt(x));
  }
}

// str.format with `{}`, `{0}` and doubled braces.
Value format_string(const std::string& pattern, const Arguments& arguments, BuiltinHost& host) {
  std::string out;
  size_t automatic = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if ((c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c) {
      out += c;
      ++i;
    } else if (c == '{') {
      const size_t close = pattern.find('}', i);
      if (close == pattern.npos) throw RuleError("format(): '{' is not closed");
      const std::string_view field(pattern.data() + i + 1, close - i - 1);
      size_t index = 0;
      if (field.empty()) {
        index = automatic++;
      } else {
        const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), index);
        if (error != std::errc() || end != field.data() + field.size()) {
          throw RuleError(fmt::format("format(): the field '{{{}}}' is not supported", field));
        }
      }
      if (index >= arguments.size()) throw RuleError("format(): too few arguments");
      const std::string text = to_str(arguments[index]);
      host.heap().spend_text(text.size());
      out += text;
      i = close;
      if (out.size() > (1u << 22)) throw RuleBudgetError("format(): the text is too long");
    } else if (c == '}') {
      throw RuleError("format(): '}' without '{'");
    } else {
      out += c;
    }
  }
  return host.heap().str(out);
}

Value call_string_method(const Value& object, std::string_view name, const Arguments& arguments,
                         BuiltinHost& host) {
  const std::string& text = object.text();
  host.heap().spend_text(text.size());
  if (name == "format") return format_string(text, arguments, host);
  if (name == "lower" || name == "upper" || name == "strip") {
    expect_count(arguments, 0, 0, name);
    if (name == "strip") return host.heap().str(std::string(trim(text)));
    std::string changed = text;
    const bool lower = name == "lower";
    for (char& c : changed) {
      if (lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
      if (!lower && c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    return host.heap().str(changed);
  }
  if (name == "startswith" || name == "endswith") {
    expect_count(arguments, 1, 1, name);
    spend_texts(arguments, host);
    if (arguments[0].kind() != Kind::kStr)
      throw RuleError(fmt::format("{}(): a string is expected", name));
    const std::string& part = arguments[0].text();
    return Value::of_bool(name == "startswith" ? text.starts_with(part) : text.ends_with(part));
  }
  throw RuleError(fmt::format("str has no method '{}'", name));
}

Value call_dict_method(const Value& object, std::string_view name, const Arguments& arguments,
                       BuiltinHost& host) {
  Dict& dict = object.dict();
  if (name == "get") {
    expect_count(arguments, 1, 2, "get()");
    const Value* found = dict.find(arguments[0]);
    if (found != nullptr) return *found;
    return arguments.size() == 2 ? arguments[1] : Value();
  }
  if (name == "update") {
    expect_count(arguments, 1, 1, "update()");
    if (arguments[0].kind() != Kind::kDict) throw RuleError("update(): a dictionary is expected");
    const auto entries = arguments[0].dict().entries;
    for (const auto& [key, value] : entries) {
      host.spend(1);
      dict.insert(key) = value;
    }
    return Value();
  }
  if (name == "keys" || name == "values" || name == "items") {
    expect_count(arguments, 0, 0, name);
    Value list = host.heap().list();
    for (const auto& [key, value] : dict.entries) {
      host.spend(1);
      host.heap().charge(sizeof(Value));
      if (name == "items") {
        Value pair = host.heap().list(Kind::kTuple);
        pair.items() = {key, value};
        list.items().push_back(std::move(pair));
      } else {
        list.items().push_back(name == "keys" ? key : value);
      }
    }
    return list;
  }
  throw RuleError(fmt::format("dict has no method '{}'", name));
}

Value call_list_method(const Value& object, std::string_view name, const Arguments& arguments,
                       BuiltinHost& host) {
  expect_count(arguments, 1, 1, name);
  if (name == "append") {
    host.heap().charge(sizeof(Value));
    object.items().push_back(arguments[0]);
    return Value();
  }
  if (name == "extend") {
    const Arguments items = elements(arguments[0], host);
    host.heap().charge(items.size() * sizeof(Value));
    object.items().insert(object.items().end(), items.begin(), items.end());
    return Value();
  }
  if (name == "count") {
    host.spend(object.items().size());
    return Value::of_int(
        std::count_if(object.items().begin(), object.items().end(),
                      [&](const Value& item) { return equal(item, arguments[0], host.heap()); }));
  }
  throw RuleError(fmt::format("list has no method '{}'", name));
}

}  // namespace

std::optional<Value> find_builtin(std::string_view name) {
  if (name == "math") return Value::of_id(Kind::kModule, 0);
  if (auto function = find_in(kFunctions, name, Kind::kFunction)) return function;
  return find_in(kTypes, name, Kind::kType);
}

std::optional<Value> find_math(std::string_view name) {
  if (name == "inf") return Value::of_float(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value::of_float(std::numeric_limits<double>::quiet_NaN());
  if (name == "pi") return Value::of_float(std::numbers::pi);
  if (name == "e") return Value::of_float(std::numbers::e);
  return find_in(kMath, name, Kind::kFunction);
}

std::optional<Value> find_import(std::string_view module, std::string_view name) {
  if (module == "dataclasses" && name == "replace") {
    return Value::of_id(Kind::kFunction, static_cast<int>(Builtin::kReplace));
  }
  if (module == "math") return find_math(name);
  return std::nullopt;
}

std::vector<Value> elements(const Value& iterable, BuiltinHost& host) {
  switch (iterable.kind()) {
    case Kind::kList:
    case Kind::kTuple:
      host.spend(iterable.items().size());
      return iterable.items();
    case Kind::kDict:
    case Kind::kSet: {
      Arguments keys;
      host.spend(iterable.dict().entries.size());
      for (const auto& [key, value] : iterable.dict().entries) keys.push_back(key);
      return keys;
    }
    case Kind::kStr: {
      Arguments letters;
      const std::string& text = iterable.text();
      host.spend(text.size());
      for (size_t i = 0; i < text.size();) {
        size_t size = 1;
        while (i + size < text.size() &&
               (static_cast<unsigned char>(text[i + size]) & 0xC0) == 0x80)
          ++size;
        letters.push_back(host.heap().str(text.substr(i, size)));
        i += size;
      }
      return letters;
    }
    default:
      throw RuleError(fmt::format("{} cannot be iterated over", type_name(iterable)));
  }
}

Value call_builtin(Builtin function, std::vector<Value>& arguments, BuiltinHost& host) {
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
        call_dict_method(copy, "update", arguments, host);
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

Value call_method(const Value& object, std::string_view name, std::vector<Value>& arguments,
                  BuiltinHost& host) {
  switch (object.kind()) {
    case Kind::kStr:
      return call_string_method(object, name, arguments, host);
    case Kind::kDict:
      return call_dict_method(object, name, arguments, host);
    case Kind::kList:
      return call_list_method(object, name, arguments, host);
    case Kind::kEventList: {
      expect_count(arguments, 1, 1, name);
      if (name != "append" && name != "extend") break;
      const Arguments lines = name == "append" ? arguments : elements(arguments[0], host);
      for (const Value& line : lines) host.append_event(line);
      return Value();
    }
    default:
      break;
  }
  throw RuleError(fmt::format("{} has no method '{}'", type_name(object), name));
}

}  // namespace strata::compliance

#include "compliance/language/builtins/collections.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace strata::compliance {

std::vector<Value> elements(const Value& iterable, BuiltinHost& host) {
  switch (iterable.kind()) {
    case Kind::kList:
    case Kind::kTuple:
      host.spend(iterable.items().size());
      return iterable.items();
    case Kind::kDict:
    case Kind::kSet: {
      std::vector<Value> keys;
      host.spend(iterable.dict().entries.size());
      for (const auto& [key, value] : iterable.dict().entries) keys.push_back(key);
      return keys;
    }
    case Kind::kStr: {
      std::vector<Value> letters;
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

namespace builtins {
namespace {

int ordered(const Value& a, const Value& b, Heap& heap) {
  const int order = compare(a, b, heap);
  return order == 2 ? 0 : order;
}

}  // namespace

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

Value extreme(const Arguments& arguments, bool largest, BuiltinHost& host) {
  const Arguments items = arguments.size() == 1 ? elements(arguments[0], host) : arguments;
  if (items.empty())
    throw RuleError(fmt::format("{}(): the sequence is empty", largest ? "max" : "min"));
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
  // The order below is one for std::stable_sort only if all items can be compared with the first
  // and none is NaN.
  for (const Value& item : items) {
    if (compare(items[0], item, host.heap()) == 2 || compare(item, item, host.heap()) == 2)
      throw RuleError("sorted(): NaN cannot be ordered");
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
    spend_digits(item, host.heap());
    real += to_double(item, "sum()");
  }
  return all_integers ? Value::of_int(integer) : Value::of_float(real);
}

}  // namespace builtins
}  // namespace strata::compliance

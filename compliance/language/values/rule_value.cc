#include "compliance/language/values/rule_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace strata::compliance {
namespace {

// An integer's sign and magnitude decide before its digits are compared.
int compare_digits(std::string_view a, std::string_view b) {
  const bool negative = a.front() == '-';
  if (negative != (b.front() == '-')) return negative ? -1 : 1;
  const int sign = negative ? -1 : 1;
  if (a.size() != b.size()) return a.size() < b.size() ? -sign : sign;
  const int order = a.compare(b);
  return order == 0 ? 0 : (order < 0 ? -sign : sign);
}

// -1, 0, 1, or 2 for NaN. long double holds every 64-bit integer exactly on the platforms that
// Strata supports.
int compare_numbers(const Value& a, const Value& b) {
  const bool a_real = a.kind() == Kind::kFloat;
  const bool b_real = b.kind() == Kind::kFloat;
  if (!a_real && !b_real) {
    if (a.kind() == Kind::kBigInt || b.kind() == Kind::kBigInt) {
      return compare_digits(integer_digits(a), integer_digits(b));
    }
    return a.integer() < b.integer() ? -1 : a.integer() > b.integer();
  }
  const auto widen = [](const Value& value) -> long double {
    if (value.kind() == Kind::kFloat) return value.real();
    if (value.kind() == Kind::kBigInt) return std::strtold(value.text().c_str(), nullptr);
    return static_cast<long double>(value.integer());
  };
  const long double x = widen(a);
  const long double y = widen(b);
  if (std::isnan(x) || std::isnan(y)) return 2;
  return x < y ? -1 : x > y;
}

bool equal_at(const Value& a, const Value& b, int depth, Heap& heap);

bool equal_dicts(Dict& a, Dict& b, bool values, int depth, Heap& heap) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.find(key);
    if (other == nullptr || (values && !equal_at(value, *other, depth + 1, heap))) return false;
  }
  return true;
}

bool equal_at(const Value& a, const Value& b, int depth, Heap& heap) {
  check_depth(depth);
  heap.spend(1);
  if (a.is_number() && b.is_number()) {
    spend_digits(a, heap);
    spend_digits(b, heap);
    return compare_numbers(a, b) == 0;
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kNone:
      return true;
    case Kind::kStr:
      if (a.object() == b.object()) return true;
      if (a.text().size() != b.text().size()) return false;
      heap.spend_text(a.text().size());
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple: {
      if (a.object() == b.object()) return true;
      const auto& x = a.items();
      const auto& y = b.items();
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!equal_at(x[i], y[i], depth + 1, heap)) return false;
      }
      return true;
    }
    case Kind::kDict:
      return a.object() == b.object() || equal_dicts(a.dict(), b.dict(), true, depth, heap);
    case Kind::kSet:
      return a.object() == b.object() || equal_dicts(a.dict(), b.dict(), false, depth, heap);
    case Kind::kLine:
      return a.object() == b.object();
    default:
      return a.integer() == b.integer();
  }
}

size_t hash_at(const Value& key, int depth, Heap& heap) {
  check_depth(depth);
  heap.spend(1);
  spend_digits(key, heap);
  switch (key.kind()) {
    case Kind::kStr:
      heap.spend_text(key.text().size());
      return std::hash<std::string_view>()(key.text());
    case Kind::kBool:
    case Kind::kInt:
      return std::hash<double>()(static_cast<double>(key.integer()));
    case Kind::kFloat:
      return std::hash<double>()(key.real());
    case Kind::kBigInt:
      return std::hash<double>()(to_double(key, "hash"));
    case Kind::kTuple: {
      size_t hash = 17;
      for (const Value& item : key.items()) hash = hash * 31 + hash_at(item, depth + 1, heap);
      return hash;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kSet:
    case Kind::kLine:
      throw RuleError(fmt::format("unhashable type: '{}'", type_name(key)));
    default:
      return static_cast<size_t>(key.integer()) * 977 + static_cast<size_t>(key.kind());
  }
}

}  // namespace

void check_depth(int depth) {
  constexpr int kMaxDepth = 600;
  if (depth > kMaxDepth) throw RuleError("values are nested too deeply");
}

const std::string& Value::text() const { return static_cast<const Str*>(bits_.object)->text; }
std::vector<Value>& Value::items() const { return static_cast<List*>(bits_.object)->items; }
Dict& Value::dict() const { return *static_cast<Dict*>(bits_.object); }
Line& Value::line() const { return *static_cast<Line*>(bits_.object); }

void Value::release() {
  if (!is_object()) return;
  Object* object = bits_.object;
  if (object->heap == nullptr || --object->references > 0) return;
  object->heap->remove(object);
}

Value* Dict::find(const Value& key) {
  if (key.kind() == Kind::kStr) return find(std::string_view(key.text()));
  const size_t hash = hash_at(key, 0, *heap);
  if (entries.size() < kIndexFrom) {
    for (auto& [name, value] : entries) {
      if (equal(name, key, *heap)) return &value;
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    if (equal(entries[at->second].first, key, *heap)) return &entries[at->second].second;
  }
  return nullptr;
}

bool Dict::is_text(const Value& name, std::string_view key) const {
  if (name.kind() != Kind::kStr || name.text().size() != key.size()) return false;
  heap->spend_text(key.size());
  return name.text() == key;
}

Value* Dict::find(std::string_view key) {
  if (entries.size() < kIndexFrom) {
    for (auto& [name, value] : entries) {
      if (is_text(name, key)) return &value;
    }
    return nullptr;
  }
  const auto [first, last] = index_.equal_range(std::hash<std::string_view>()(key));
  for (auto at = first; at != last; ++at) {
    auto& [name, value] = entries[at->second];
    if (is_text(name, key)) return &value;
  }
  return nullptr;
}

Value& Dict::insert(const Value& key) {
  if (Value* existing = find(key)) return *existing;
  constexpr uint64_t kInsertSteps = 4;
  heap->spend(kInsertSteps);
  heap->charge(sizeof(entries[0]) + 48);
  if (entries.empty()) entries.reserve(4);
  entries.emplace_back(key, Value());
  if (entries.size() == kIndexFrom) {
    for (size_t i = 0; i < entries.size(); ++i) {
      index_.emplace(hash_at(entries[i].first, 0, *heap), static_cast<uint32_t>(i));
    }
  } else if (entries.size() > kIndexFrom) {
    index_.emplace(hash_at(key, 0, *heap), static_cast<uint32_t>(entries.size() - 1));
  }
  return entries.back().second;
}

void Dict::clear() {
  entries.clear();
  index_.clear();
}

bool equal(const Value& a, const Value& b, Heap& heap) { return equal_at(a, b, 0, heap); }

int compare(const Value& a, const Value& b, Heap& heap) {
  if (a.is_number() && b.is_number()) {
    spend_digits(a, heap);
    spend_digits(b, heap);
    return compare_numbers(a, b);
  }
  if (a.kind() == Kind::kStr && b.kind() == Kind::kStr) {
    heap.spend_text(std::min(a.text().size(), b.text().size()));
    const int order = a.text().compare(b.text());
    return order < 0 ? -1 : order > 0;
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    const auto& x = a.items();
    const auto& y = b.items();
    for (size_t i = 0; i < x.size() && i < y.size(); ++i) {
      if (equal(x[i], y[i], heap)) continue;
      if (x[i].is_sequence()) throw RuleError("nested sequences cannot be ordered");
      return compare(x[i], y[i], heap);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  throw RuleError(fmt::format("'{}' and '{}' cannot be ordered", type_name(a), type_name(b)));
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.real() != 0;
    case Kind::kStr:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !value.items().empty();
    case Kind::kDict:
    case Kind::kSet:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBigInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kFunction:
      return "builtin function";
    case Kind::kModule:
      return "module";
    case Kind::kType:
      return "type";
    case Kind::kEventList:
      return "list";
    case Kind::kStr:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kSet:
      return "set";
    case Kind::kDict:
      return "dict";
    case Kind::kLine:
      return "log line";
  }
  return "?";
}

double to_double(const Value& value, std::string_view what) {
  switch (value.kind()) {
    case Kind::kBool:
    case Kind::kInt:
      return static_cast<double>(value.integer());
    case Kind::kFloat:
      return value.real();
    case Kind::kBigInt: {
      const double real = std::strtod(value.text().c_str(), nullptr);
      if (std::isinf(real))
        throw RuleError(fmt::format("{}: the integer is too large for a float", what));
      return real;
    }
    default:
      throw RuleError(fmt::format("{}: a number was expected, found {}", what, type_name(value)));
  }
}

std::string integer_digits(const Value& value) {
  return value.kind() == Kind::kBigInt ? value.text() : std::to_string(value.integer());
}

void spend_digits(const Value& value, Heap& heap) {
  if (value.kind() == Kind::kBigInt) heap.spend_text(value.text().size());
}

size_t code_points(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

}  // namespace strata::compliance

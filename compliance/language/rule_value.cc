#include "compliance/language/rule_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "mllog/json_scan.h"

namespace strata::compliance {
namespace {

constexpr int kMaxDepth = 600;  // of nested values in ==, str() and JSON

[[noreturn]] void too_deep() { throw RuleError("values nested too deeply"); }

// An integer's sign and magnitude decide before its digits are compared.
int compare_digits(std::string_view a, std::string_view b) {
  const bool negative = a.front() == '-';
  if (negative != (b.front() == '-')) return negative ? -1 : 1;
  const int sign = negative ? -1 : 1;
  if (a.size() != b.size()) return a.size() < b.size() ? -sign : sign;
  const int order = a.compare(b);
  return order == 0 ? 0 : (order < 0 ? -sign : sign);
}

std::string integer_digits(const Value& value) {
  return value.kind() == Kind::kBigInt ? value.text() : std::to_string(value.integer());
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

// Integers beyond 64 bits are texts.
void spend_digits(const Value& value, Heap& heap) {
  if (value.kind() == Kind::kBigInt) heap.spend_text(value.text().size());
}

bool equal_at(const Value& a, const Value& b, int depth, Heap& heap) {
  if (depth > kMaxDepth) too_deep();
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
  if (depth > kMaxDepth) too_deep();
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

// repr(float): the shortest digits that read back, with an exponent below 1e-4 and from 1e16 on.
std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const double magnitude = std::fabs(value);
  char buffer[64];
  const bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  const auto result =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed);
  std::string text(buffer, result.ptr);
  if (!exponent && text.find('.') == text.npos) text += ".0";
  return text;
}

void append_quoted(std::string& out, std::string_view text) {
  const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  out += quote;
  for (const char c : text) {
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += quote;
}

class Printer {
 public:
  explicit Printer(size_t limit) : limit_(limit) {}

  void print(const Value& value, bool quoted, int depth) {
    if (out_.size() > limit_) return;
    if (depth > kMaxDepth) too_deep();
    switch (value.kind()) {
      case Kind::kNone:
        out_ += "None";
        break;
      case Kind::kBool:
        out_ += value.boolean() ? "True" : "False";
        break;
      case Kind::kInt:
        out_ += std::to_string(value.integer());
        break;
      case Kind::kFloat:
        out_ += float_repr(value.real());
        break;
      case Kind::kBigInt:
        out_ += value.text();
        break;
      case Kind::kStr:
        if (quoted) {
          append_quoted(out_, value.text());
        } else {
          out_ += value.text();
        }
        break;
      case Kind::kList:
        print_items('[', ']', value, depth);
        break;
      case Kind::kTuple:
        print_items('(', ')', value, depth);
        break;
      case Kind::kDict:
      case Kind::kSet:
        print_dict(value, depth);
        break;
      default:
        out_ += fmt::format("<{}>", type_name(value));
        break;
    }
  }

  std::string finish() {
    if (out_.size() > limit_) {
      out_.resize(limit_);
      out_ += "...";
    }
    return std::move(out_);
  }

 private:
  void print_items(char open, char close, const Value& value, int depth) {
    out_ += open;
    const auto& items = value.items();
    for (size_t i = 0; i < items.size() && out_.size() <= limit_; ++i) {
      if (i > 0) out_ += ", ";
      print(items[i], true, depth + 1);
    }
    if (close == ')' && items.size() == 1) out_ += ',';
    out_ += close;
  }

  void print_dict(const Value& value, int depth) {
    const bool set = value.kind() == Kind::kSet;
    const auto& entries = value.dict().entries;
    if (set && entries.empty()) {
      out_ += "set()";
      return;
    }
    out_ += '{';
    for (size_t i = 0; i < entries.size() && out_.size() <= limit_; ++i) {
      if (i > 0) out_ += ", ";
      print(entries[i].first, true, depth + 1);
      if (set) continue;
      out_ += ": ";
      print(entries[i].second, true, depth + 1);
    }
    out_ += '}';
  }

  std::string out_;
  size_t limit_;
};

}  // namespace

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

Heap::~Heap() {
  // Cycles are broken first: what a container held is let go while every object still exists.
  ending_ = true;
  for (Object* object = first_; object != nullptr; object = object->next) {
    if (object->kind == Kind::kList || object->kind == Kind::kTuple)
      static_cast<List*>(object)->items.clear();
    if (object->kind == Kind::kDict || object->kind == Kind::kSet)
      static_cast<Dict*>(object)->entries.clear();
    if (object->kind == Kind::kLine) static_cast<Line*>(object)->value = Value();
  }
  for (Object* object = first_; object != nullptr;) {
    Object* next = object->next;
    destroy(object);
    object = next;
  }
  for (Str* string : spare_strings_) delete string;
  for (Dict* dict : spare_dicts_) delete dict;
}

void Heap::charge(size_t bytes) {
  used_ += bytes;
  if (used_ > limit_) {
    throw RuleBudgetError(fmt::format("the rules use more than {} MB of memory", limit_ >> 20));
  }
}

void Heap::throw_out_of_steps() { throw RuleBudgetError("the rules take too many steps"); }

template <typename T>
T* Heap::create(Kind kind, size_t bytes) {
  charge(sizeof(T) + bytes);
  T* object = nullptr;
  if constexpr (std::is_same_v<T, Str>) {
    if (!spare_strings_.empty()) {
      object = spare_strings_.back();
      spare_strings_.pop_back();
    }
  } else if constexpr (std::is_same_v<T, Dict>) {
    if (!spare_dicts_.empty()) {
      object = spare_dicts_.back();
      spare_dicts_.pop_back();
    }
  }
  if (object == nullptr) object = new T;
  object->kind = kind;
  add(object);
  return object;
}

void Heap::add(Object* object) {
  object->heap = this;
  object->next = first_;
  if (first_ != nullptr) first_->previous = object;
  first_ = object;
}

// An object without references dies, and with it what only it held; a work list, not recursion, so
// that depth is no risk, and without memory of its own: an object also dies where there is none
// left.
void Heap::remove(Object* object) {
  if (ending_) return;
  (object->previous != nullptr ? object->previous->next : first_) = object->next;
  if (object->next != nullptr) object->next->previous = object->previous;
  object->previous = nullptr;
  object->next = dying_;
  dying_ = object;
  if (draining_) return;
  draining_ = true;
  while (dying_ != nullptr) {
    Object* dead = dying_;
    dying_ = dead->next;
    size_t bytes = sizeof(Str);
    if (dead->kind == Kind::kStr || dead->kind == Kind::kBigInt) {
      bytes = sizeof(Str) + static_cast<Str*>(dead)->text.size();
    } else if (dead->kind == Kind::kList || dead->kind == Kind::kTuple) {
      bytes = sizeof(List) + static_cast<List*>(dead)->items.size() * sizeof(Value);
    } else if (dead->kind == Kind::kDict || dead->kind == Kind::kSet) {
      bytes = sizeof(Dict) + static_cast<Dict*>(dead)->entries.size() * (2 * sizeof(Value) + 48);
    } else if (dead->kind == Kind::kLine) {
      bytes = sizeof(Line);
    }
    used_ -= std::min(used_, bytes);
    if (!recycle(dead)) destroy(dead);
  }
  draining_ = false;
}

bool Heap::recycle(Object* object) {
  constexpr size_t kSmallText = 256;
  if (object->kind == Kind::kStr || object->kind == Kind::kBigInt) {
    Str* string = static_cast<Str*>(object);
    if (spare_strings_.size() >= kMaxSpare || string->text.capacity() > kSmallText) return false;
    string->previous = string->next = nullptr;
    spare_strings_.push_back(string);
    return true;
  }
  if (object->kind == Kind::kDict || object->kind == Kind::kSet) {
    Dict* dict = static_cast<Dict*>(object);
    if (spare_dicts_.size() >= kMaxSpare || dict->entries.size() >= Dict::kIndexFrom) return false;
    dict->clear();
    dict->previous = dict->next = nullptr;
    spare_dicts_.push_back(dict);
    return true;
  }
  return false;
}

void Heap::destroy(Object* object) {
  switch (object->kind) {
    case Kind::kBigInt:
    case Kind::kStr:
      delete static_cast<Str*>(object);
      break;
    case Kind::kList:
    case Kind::kTuple:
      delete static_cast<List*>(object);
      break;
    case Kind::kSet:
    case Kind::kDict:
      delete static_cast<Dict*>(object);
      break;
    default:
      delete static_cast<Line*>(object);
      break;
  }
}

Value Heap::str(std::string_view text) {
  Str* object = create<Str>(Kind::kStr, text.size());
  object->text = text;
  return Value::of_object(object);
}

Value Heap::big_int(std::string digits) {
  Str* object = create<Str>(Kind::kBigInt, digits.size());
  object->text = std::move(digits);
  return Value::of_object(object);
}

Value Heap::list(Kind kind) { return Value::of_object(create<List>(kind, 0)); }
Value Heap::dict(Kind kind) { return Value::of_object(create<Dict>(kind, 0)); }
Value Heap::line() { return Value::of_object(create<Line>(Kind::kLine, 0)); }

Str* make_constant_string(std::string text) {
  Str* string = new Str;
  string->kind = Kind::kStr;
  string->text = std::move(text);
  return string;
}

void free_constant_string(Str* string) { delete string; }

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

std::string to_str(const Value& value, size_t limit) {
  Printer printer(limit);
  printer.print(value, false, 0);
  return printer.finish();
}

std::string to_repr(const Value& value, size_t limit) {
  Printer printer(limit);
  printer.print(value, true, 0);
  return printer.finish();
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

size_t code_points(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

namespace {

// Reads a text that JsonScanner has accepted, so nothing is checked again.
class JsonReader {
 public:
  JsonReader(std::string_view json, Heap& heap)
      : at_(json.data()), end_(json.data() + json.size()), heap_(heap) {}

  Value read() {
    switch (*at_) {
      case '"':
        return read_string();
      case '{':
        return read_object();
      case '[':
        return read_list();
      case 't':
        return at_ += 4, Value::of_bool(true);
      case 'f':
        return at_ += 5, Value::of_bool(false);
      case 'n':
        return at_ += 4, Value();
      default:
        return read_number();
    }
  }

 private:
  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  Value read_string() {
    const char* start = at_ + 1;
    mllog::JsonScanner scanner(std::string_view(at_, static_cast<size_t>(end_ - at_)));
    std::string_view content;
    bool plain = true;
    scanner.skip_string(content, plain);
    at_ = start + content.size() + 1;
    return plain ? heap_.str(content) : heap_.str(mllog::decode_json_string(content));
  }

  Value read_number() {
    const char* start = at_;
    bool integer = true;
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ']' && *at_ != ' ' &&
           *at_ != '\t' && *at_ != '\n' && *at_ != '\r') {
      const bool digit = (*at_ >= '0' && *at_ <= '9') || *at_ == '-';
      integer &= digit;
      ++at_;
    }
    if (integer) {
      int64_t number = 0;
      if (std::from_chars(start, at_, number).ec == std::errc()) return Value::of_int(number);
      return heap_.big_int(std::string(start, at_));
    }
    double real = 0;
    const auto result = std::from_chars(start, at_, real);
    if (result.ec != std::errc() || result.ptr != at_)
      real = std::strtod(std::string(start, at_).c_str(), nullptr);
    return Value::of_float(real);
  }

  Value read_list() {
    Value list = heap_.list();
    ++at_;
    for (;;) {
      skip_space();
      if (*at_ == ']') break;
      if (*at_ == ',') {
        ++at_;
        continue;
      }
      heap_.charge(sizeof(Value));
      list.items().push_back(read());
    }
    ++at_;
    return list;
  }

  Value read_object() {
    Value object = heap_.dict();
    ++at_;
    for (;;) {
      skip_space();
      if (*at_ == '}') break;
      if (*at_ == ',') {
        ++at_;
        continue;
      }
      const Value name = read_string();
      skip_space();
      ++at_;  // the colon
      skip_space();
      Value value = read();
      object.dict().insert(name) = std::move(value);
    }
    ++at_;
    return object;
  }

  const char* at_;
  const char* end_;
  Heap& heap_;
};

}  // namespace

Value value_from_json(std::string_view json, Heap& heap) { return JsonReader(json, heap).read(); }

}  // namespace strata::compliance

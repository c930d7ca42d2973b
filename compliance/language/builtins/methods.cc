#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "base/text/trim.h"
#include "compliance/language/builtins/arguments.h"

namespace strata::compliance {
namespace builtins {
namespace {

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
    if (name == "strip") return host.heap().str(std::string(trimmed(text)));
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
}  // namespace builtins

Value call_method(const Value& object, std::string_view name, std::vector<Value>& arguments,
                  BuiltinHost& host) {
  using namespace builtins;
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

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "compliance/language/values/rule_value.h"

namespace strata::compliance {
namespace {

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
    check_depth(depth);
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

}  // namespace strata::compliance

#include <cstdlib>
#include <utility>

#include "base/text/from_chars.h"
#include "compliance/language/values/rule_value.h"
#include "mllog/json_scan.h"

namespace strata::compliance {
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
      if (from_chars(start, at_, number).ec == std::errc()) return Value::of_int(number);
      return heap_.big_int(std::string(start, at_));
    }
    double real = 0;
    const auto result = from_chars(start, at_, real);
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

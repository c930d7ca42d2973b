// A validating JSON scanner over bytes in memory. Up to a depth of kMaxJsonDepth it accepts the
// same Latin-1 texts as Python's json.loads, because the official checker reads logs with it: NaN
// and Infinity are values, integers have at most 4300 digits, control characters inside strings are
// errors.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace strata::mllog {

// Deeper nesting is refused, so that no input can exhaust the stack.
inline constexpr int kMaxJsonDepth = 500;

// Walks over one JSON text. Every skip_ function moves past one piece and returns false at the
// first error; error() then has the reason.
class JsonScanner {
 public:
  explicit JsonScanner(std::string_view text)
      : begin_(text.data()), at_(text.data()), end_(text.data() + text.size()) {}

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  bool at_end() const { return at_ == end_; }
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  // Moves past `expected` if it is next.
  bool consume(char expected) {
    if (at_ == end_ || *at_ != expected) return false;
    ++at_;
    return true;
  }
  template <size_t kSize>
  bool consume(const char (&expected)[kSize]) {
    constexpr size_t kBytes = kSize - 1;  // without the final zero
    if (static_cast<size_t>(end_ - at_) < kBytes || std::memcmp(at_, expected, kBytes) != 0)
      return false;
    at_ += kBytes;
    return true;
  }
  // Requires that the next byte is '"'. Stores the span without quotes in `content`. Sets `plain`
  // to false if it holds escapes or bytes above 127, which need decode_json_string.
  bool skip_string(std::string_view& content, bool& plain);
  // `depth` is the number of lists and objects around this value.
  bool skip_value(int depth = 0);
  // Like skip_value, and stores the value's span.
  bool skip_value(std::string_view& span, int depth = 0);

  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  const char* error() const { return error_; }
  bool set_error(const char* reason) {
    if (error_ == nullptr) error_ = reason;
    return false;
  }

 private:
  bool skip_number();
  bool skip_word(std::string_view word);
  bool skip_list(int depth);
  bool skip_object(int depth);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* error_ = nullptr;
};

// Returns the text of a validated string span (without quotes), as UTF-8. Bytes above 127 are read
// as Latin-1.
std::string decode_json_string(std::string_view content);
// The same for display: bytes above 127 are kept if the text is UTF-8.
std::string decode_json_text(std::string_view content);

}  // namespace strata::mllog

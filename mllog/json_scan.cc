#include "mllog/json_scan.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/text/characters.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace strata::mllog {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// True for the bytes that end the fast path over a string: quote, backslash, control characters,
// bytes above 127.
constexpr std::array<bool, 256> make_special() {
  std::array<bool, 256> special{};
  for (int c = 0; c < 256; ++c) special[c] = c < 0x20 || c == '"' || c == '\\' || c > 127;
  return special;
}
constexpr auto kSpecial = make_special();

// Returns the number of bytes at `p` before the first special one, or kAtOnce if there is none.
#if defined(__SSE2__)
constexpr size_t kAtOnce = 16;
size_t plain_bytes_at(const char* p) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  // Bytes above 127 are negative.
  const __m128i outside = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20));
  const __m128i special = _mm_or_si128(_mm_or_si128(quote, backslash), outside);
  const auto mask = static_cast<unsigned>(_mm_movemask_epi8(special));
  return static_cast<size_t>(std::countr_zero(mask | 1u << kAtOnce));
}
#else
constexpr size_t kAtOnce = sizeof(uint64_t);
static_assert(std::endian::native == std::endian::little, "the first byte is the lowest");
// A subtraction borrows only from bytes above a special one, so the lowest mark is right.
size_t plain_bytes_at(const char* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  constexpr uint64_t kOnes = 0x0101010101010101u;
  constexpr uint64_t kHighs = 0x8080808080808080u;
  const auto has_zero = [](uint64_t x) { return (x - kOnes) & ~x & kHighs; };
  const uint64_t quote = has_zero(bytes ^ (kOnes * '"'));
  const uint64_t backslash = has_zero(bytes ^ (kOnes * '\\'));
  const uint64_t control = (bytes - kOnes * 0x20) & ~bytes & kHighs;
  const uint64_t special = quote | backslash | control | (bytes & kHighs);
  return static_cast<size_t>(std::countr_zero(special)) / 8;
}
#endif

// Returns the number of bytes of [begin, end) before the first special one.
std::ptrdiff_t plain_bytes(const char* begin, const char* end) {
  const char* at = begin;
  while (end - at >= static_cast<std::ptrdiff_t>(kAtOnce)) {
    const size_t plain = plain_bytes_at(at);
    at += plain;
    if (plain < kAtOnce) return at - begin;
  }
  while (at != end && !kSpecial[static_cast<unsigned char>(*at)]) ++at;
  return at - begin;
}

uint32_t read_hex4(const char* p) {
  uint32_t code = 0;
  for (int i = 0; i < 4; ++i) code = code * 16 + static_cast<uint32_t>(hex_value(p[i]));
  return code;
}

}  // namespace

bool JsonScanner::skip_string(std::string_view& content, bool& plain) {
  ++at_;  // the opening quote
  const char* start = at_;
  plain = true;
  for (;;) {
    at_ += plain_bytes(at_, end_);
    if (at_ == end_) return set_error("unterminated string");
    if (*at_ == '"') {
      content = {start, static_cast<size_t>(at_ - start)};
      ++at_;
      return true;
    }
    if (static_cast<unsigned char>(*at_) < 0x20)
      return set_error("control character inside a string");
    plain = false;
    if (*at_ != '\\') {  // a Latin-1 byte
      ++at_;
      continue;
    }
    if (++at_ == end_) return set_error("unterminated string");
    switch (*at_) {
      case '"':
      case '\\':
      case '/':
      case 'b':
      case 'f':
      case 'n':
      case 'r':
      case 't':
        ++at_;
        break;
      case 'u':
        if (end_ - at_ < 5) return set_error("truncated \\u escape");
        for (int i = 1; i <= 4; ++i) {
          if (hex_value(at_[i]) < 0) return set_error("bad \\u escape");
        }
        at_ += 5;
        break;
      default:
        return set_error("bad escape in a string");
    }
  }
}

bool JsonScanner::skip_word(std::string_view word) {
  if (static_cast<size_t>(end_ - at_) < word.size() || std::string_view(at_, word.size()) != word) {
    return set_error("a JSON value was expected");
  }
  at_ += word.size();
  return true;
}

bool JsonScanner::skip_number() {
  constexpr std::ptrdiff_t kMaxIntegerDigits = 4300;  // Python refuses longer integers
  consume('-');
  if (at_ != end_ && *at_ == 'I') return skip_word("Infinity");
  const char* digits = at_;
  if (at_ == end_ || !is_digit(*at_)) return set_error("a JSON value was expected");
  if (!consume('0')) {
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  const bool too_long = at_ - digits > kMaxIntegerDigits;
  bool integer = true;
  if (end_ - at_ >= 2 && *at_ == '.' && is_digit(at_[1])) {
    integer = false;
    at_ += 2;
    while (at_ != end_ && is_digit(*at_)) ++at_;
  }
  if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
    const char* exponent = at_ + 1;
    if (exponent != end_ && (*exponent == '+' || *exponent == '-')) ++exponent;
    if (exponent != end_ && is_digit(*exponent)) {
      integer = false;
      at_ = exponent;
      while (at_ != end_ && is_digit(*at_)) ++at_;
    }
  }
  if (integer && too_long) return set_error("integer of more than 4300 digits");
  return true;
}

bool JsonScanner::skip_value(int depth) {
  if (at_ == end_) return set_error("a JSON value was expected");
  switch (*at_) {
    case '"': {
      std::string_view content;
      bool plain;
      return skip_string(content, plain);
    }
    case '{':
      return skip_object(depth);
    case '[':
      return skip_list(depth);
    case 't':
      return skip_word("true");
    case 'f':
      return skip_word("false");
    case 'n':
      return skip_word("null");
    case 'N':
      return skip_word("NaN");
    case 'I':
      return skip_word("Infinity");
    default:
      return skip_number();
  }
}

bool JsonScanner::skip_value(std::string_view& span, int depth) {
  const char* start = at_;
  if (!skip_value(depth)) return false;
  span = {start, static_cast<size_t>(at_ - start)};
  return true;
}

bool JsonScanner::skip_list(int depth) {
  if (depth >= kMaxJsonDepth) return set_error("JSON nested too deeply");
  ++at_;
  skip_space();
  if (consume(']')) return true;
  for (;;) {
    if (!skip_value(depth + 1)) return false;
    skip_space();
    if (consume(']')) return true;
    if (!consume(',')) return set_error("',' or ']' was expected");
    skip_space();
  }
}

bool JsonScanner::skip_object(int depth) {
  if (depth >= kMaxJsonDepth) return set_error("JSON nested too deeply");
  ++at_;
  skip_space();
  if (consume('}')) return true;
  for (;;) {
    std::string_view name;
    bool plain;
    if (peek() != '"') return set_error("a property name in double quotes was expected");
    if (!skip_string(name, plain)) return false;
    skip_space();
    if (!consume(':')) return set_error("':' was expected");
    skip_space();
    if (!skip_value(depth + 1)) return false;
    skip_space();
    if (consume('}')) return true;
    if (!consume(',')) return set_error("',' or '}' was expected");
    skip_space();
  }
}

namespace {

std::string decode(std::string_view content, bool is_utf8) {
  std::string out;
  out.reserve(content.size());
  const char* end = content.data() + content.size();
  for (const char* p = content.data(); p != end; ++p) {
    if (*p != '\\') {
      if (is_utf8) {
        out += *p;
      } else {
        append_utf8(out, static_cast<unsigned char>(*p));
      }
      continue;
    }
    switch (*++p) {
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        uint32_t code = read_hex4(p + 1);
        p += 4;
        const bool high = code >= 0xD800 && code < 0xDC00;
        if (high && end - p >= 7 && p[1] == '\\' && p[2] == 'u') {
          const uint32_t low = read_hex4(p + 3);
          if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            p += 6;
          }
        }
        append_utf8(out, code);
        break;
      }
      default:
        out += *p;
        break;
    }
  }
  return out;
}

}  // namespace

std::string decode_json_string(std::string_view content) { return decode(content, false); }

std::string decode_json_text(std::string_view content) {
  return decode(content, strata::is_utf8(content));
}

}  // namespace strata::mllog

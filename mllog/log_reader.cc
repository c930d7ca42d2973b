#include "mllog/log_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/lines.h"
#include "base/text/from_chars.h"
#include "mllog/json_scan.h"
#include "mllog/python_digits.h"

namespace strata::mllog {
namespace {

std::string_view token_of(LogFormat format) {
  return format == LogFormat::kMllog ? ":::MLLOG " : ":::MLL";
}

// Python's str.strip() removes these characters from a Latin-1 text.
bool is_space(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 9 && byte <= 13) || (byte >= 28 && byte <= 32) || byte == 0x85 || byte == 0xA0;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool to_double(std::string_view text, double& value) {
  const auto [end, error] = from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {  // 1e999 is infinity in Python
    value = std::strtod(std::string(text).c_str(), nullptr);
    return true;
  }
  return error == std::errc() && end == text.data() + text.size();
}

// Reads a text as Python's float() does: digits of any script, with underscores between them, a
// sign, or a word.
bool text_to_double(std::string_view text, double& value) {
  const std::string seen = python_number_text(text);
  text = seen;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string plain = without_digit_separators(text);
  for (char& c : plain) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool is_word = plain == "inf" || plain == "infinity" || plain == "nan";
  const bool is_number =
      !plain.empty() &&
      (std::isdigit(static_cast<unsigned char>(plain.front())) || plain.front() == '.');
  if (!is_word && !is_number) return false;
  if (!to_double(plain, value)) return false;
  if (negative) value = -value;
  return true;
}

// Reads a JSON value as float() does: numbers, booleans, and strings that hold a number.
const char* read_time(std::string_view json, double& time_ms) {
  if (json == "true" || json == "false") {
    time_ms = json == "true" ? 1 : 0;
    return nullptr;
  }
  if (json == "NaN" || json == "Infinity" || json == "-Infinity") {
    time_ms = std::strtod(std::string(json).c_str(), nullptr);
    return nullptr;
  }
  constexpr size_t kExactDigits = 15;  // a double holds these exactly
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (json.size() <= kExactDigits && std::ranges::all_of(json, is_digit)) {
    int64_t whole = 0;
    for (const char digit : json) whole = 10 * whole + (digit - '0');
    time_ms = static_cast<double>(whole);
    return nullptr;
  }
  constexpr const char* kNoNumber = "\"time_ms\" is not a number";
  if (json.starts_with('"')) {
    const std::string text = decode_json_string(json.substr(1, json.size() - 2));
    return text_to_double(text, time_ms) ? nullptr : kNoNumber;
  }
  if (!to_double(json, time_ms)) return kNoNumber;
  const bool is_integer = json.find_first_of(".eE") == json.npos;
  return is_integer && std::isinf(time_ms) ? "\"time_ms\" is too large" : nullptr;
}

// Parses one line, from the token on, stripped. Returns the reason of a failure.
class LineParser {
 public:
  explicit LineParser(std::deque<std::string>& decoded_keys) : decoded_keys_(decoded_keys) {}

  const char* parse(std::string_view line, LogFormat format, Event& event) {
    event.line = line;
    line.remove_prefix(std::min(line.size(), token_of(format).size()));
    return format == LogFormat::kMllog ? parse_mllog(line, event) : parse_mll(line, event);
  }

 private:
  const char* parse_mllog(std::string_view json, Event& event) {
    if (parse_usual(json, event)) return nullptr;
    JsonScanner scanner(json);
    scanner.skip_space();
    if (!scanner.consume('{')) {
      scanner.skip_value();
      return scanner.error() != nullptr ? scanner.error() : "the record is not a JSON object";
    }
    std::string_view time;
    std::string_view key;
    event.value = event.metadata = {};
    scanner.skip_space();
    if (!scanner.consume('}')) {
      for (;;) {
        std::string_view name;
        std::string_view span;
        bool plain;
        if (scanner.peek() != '"') return "a property name in double quotes was expected";
        if (!scanner.skip_string(name, plain)) return scanner.error();
        scanner.skip_space();
        if (!scanner.consume(':')) return "':' was expected";
        scanner.skip_space();
        if (!scanner.skip_value(span, 1)) return scanner.error();
        if (plain) {
          store_field(name, span, time, key, event);
        } else {
          store_field(decode_json_string(name), span, time, key, event);
        }
        scanner.skip_space();
        if (scanner.consume('}')) break;
        if (!scanner.consume(',')) return "',' or '}' was expected";
        scanner.skip_space();
      }
    }
    scanner.skip_space();
    if (!scanner.at_end()) return "extra data after the JSON record";
    if (time.empty()) return "the record has no \"time_ms\"";
    if (key.empty()) return "the record has no \"key\"";
    if (event.value.empty()) return "the record has no \"value\"";
    if (event.metadata.empty()) return "the record has no \"metadata\"";
    event.key = decode_key(key);
    return read_time(time, event.time_ms);
  }

  // Parses a record with the fields that mlperf_logging writes, in its order; returns false for any
  // other record.
  static bool parse_usual(std::string_view json, Event& event) {
    JsonScanner scanner(json);
    std::string_view time, type, key;
    bool plain;
    if (!scanner.consume("{\"namespace\": \"\", \"time_ms\": ")) return false;
    if (!scanner.skip_value(time, 1)) return false;
    if (!scanner.consume(", \"event_type\": ") || scanner.peek() != '"') return false;
    if (!scanner.skip_string(type, plain)) return false;
    if (!scanner.consume(", \"key\": ") || scanner.peek() != '"') return false;
    if (!scanner.skip_string(key, plain) || !plain) return false;
    if (!scanner.consume(", \"value\": ") || !scanner.skip_value(event.value, 1)) return false;
    if (!scanner.consume(", \"metadata\": ")) return false;
    if (!scanner.skip_value(event.metadata, 1)) return false;
    if (!scanner.consume('}') || !scanner.at_end()) return false;
    event.key = key;
    return read_time(time, event.time_ms) == nullptr;
  }

  static void store_field(std::string_view name, std::string_view span, std::string_view& time,
                          std::string_view& key, Event& event) {
    if (name == "time_ms") time = span;
    if (name == "key") key = span;
    if (name == "value") event.value = span;
    if (name == "metadata") event.metadata = span;
  }

  // Parses the format of round 0.6: ` seconds key: json`.
  const char* parse_mll(std::string_view text, Event& event) {
    constexpr const char* kMismatch = "the line does not have the form ':::MLL seconds key: json'";
    if (text.empty() || text.front() != ' ') return kMismatch;
    text.remove_prefix(1);
    const size_t time_size = text.find_first_not_of("0123456789.");
    if (time_size == 0 || time_size == text.npos || text[time_size] != ' ') return kMismatch;
    const std::string_view time = text.substr(0, time_size);
    text.remove_prefix(time_size + 1);
    size_t key_size = 0;
    while (
        key_size < text.size() &&
        (std::isalnum(static_cast<unsigned char>(text[key_size])) != 0 || text[key_size] == '_')) {
      ++key_size;
    }
    if (key_size == 0) return kMismatch;
    event.key = text.substr(0, key_size);
    text.remove_prefix(key_size);
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (text.size() < 2 || text.front() != ':' || !is_space(text[1])) return kMismatch;
    text.remove_prefix(1);
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    if (!to_double(time, event.time_ms)) return "the time is not a number";
    JsonScanner scanner(text);
    event.metadata = {};
    if (!scanner.skip_value(event.value)) return scanner.error();
    scanner.skip_space();
    return scanner.at_end() ? nullptr : "extra data after the JSON record";
  }

  std::string_view decode_key(std::string_view json) {
    if (json.front() != '"') return {};
    const std::string_view content = json.substr(1, json.size() - 2);
    const bool plain = std::all_of(content.begin(), content.end(), [](char c) {
      return c != '\\' && static_cast<unsigned char>(c) < 128;
    });
    if (plain) return content;
    return decoded_keys_.emplace_back(decode_json_string(content));
  }

  std::deque<std::string>& decoded_keys_;
};

size_t find_line_end(std::string_view text, size_t from) {
  const char* start = text.data() + from;
  const size_t size = text.size() - from;
  const void* newline = std::memchr(start, '\n', size);
  const size_t limit =
      newline != nullptr ? static_cast<size_t>(static_cast<const char*>(newline) - start) : size;
  const void* carriage = std::memchr(start, '\r', limit);
  if (carriage != nullptr)
    return from + static_cast<size_t>(static_cast<const char*>(carriage) - start);
  return newline != nullptr ? from + limit : text.npos;
}

// Searches for the token's M, which a log has almost nowhere else.
size_t find_token(std::string_view text, std::string_view token, size_t from) {
  constexpr size_t kMark = 3;
  for (size_t at = from + kMark; at < text.size(); ++at) {
    const void* found = std::memchr(text.data() + at, token[kMark], text.size() - at);
    if (found == nullptr) return text.npos;
    at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (text.substr(at - kMark, token.size()) == token) return at - kMark;
  }
  return text.npos;
}

// Returns the last token that starts in [first, end). Requires a token at `first`.
size_t find_last_token(std::string_view text, std::string_view token, size_t first, size_t end) {
  const std::string_view line = text.substr(0, end);
  for (size_t next = first; next != line.npos; next = find_token(line, token, next + token.size()))
    first = next;
  return first;
}

}  // namespace

LogReader::LogReader(const std::filesystem::path& path, LogFormat format)
    : path_(path), format_(format) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);  // fails unless it is a regular file
  whole_ = error || size <= kWholeFileBytes;
  if (!error && size > kMaxFileBytes) {
    fail("{}: has {} bytes; a log may have at most {}", path.string(), size, kMaxFileBytes);
  }
  if (whole_) {
    text_ = read_file(path, kMaxFileBytes);
    scan_text();
  } else {
    scan_file([this](const Event&) { return ++event_count_, true; }, true);
  }
}

LogReader LogReader::from_text(std::string text, std::string name, LogFormat format) {
  LogReader log;
  log.path_ = std::move(name);
  log.format_ = format;
  log.text_ = std::move(text);
  log.scan_text();
  return log;
}

void LogReader::add_bad_line(uint64_t offset, std::string_view text, const char* reason) {
  constexpr size_t kShownBytes = 160;
  ++bad_line_count_;
  if (bad_lines_.size() >= kMaxBadLines) return;
  bad_lines_.push_back({offset, std::string(text.substr(0, kShownBytes)), reason});
}

// `tokens` reaches from the first token of a line to its last.
void LogReader::note_crowded(std::string_view tokens, uint64_t offset) {
  const std::string_view token = token_of(format_);
  std::deque<std::string> decoded_keys;
  LineParser parser(decoded_keys);
  CrowdedLine line{offset, ""};
  constexpr size_t kMostShown = 400;
  constexpr std::string_view kPart = "part of an event";
  for (size_t at = 0; at < tokens.size();) {
    const size_t next = std::min(find_token(tokens, token, at + token.size()), tokens.size());
    const std::string_view piece = strip_right(tokens.substr(at, next - at));
    at = next;
    Event event;
    const bool is_event = parser.parse(piece, format_, event) == nullptr;
    // Other programs write the token without a record after it.
    if (!is_event && piece.substr(std::min(piece.size(), token.size())).find_first_of("{:") != 0)
      continue;
    const std::string_view lost = is_event ? std::string_view(event.key) : kPart;
    if (line.lost.size() > kMostShown || (!is_event && line.lost.ends_with(kPart))) continue;
    if (!line.lost.empty()) line.lost += ", ";
    line.lost += lost;
  }
  if (line.lost.empty()) return;
  ++crowded_line_count_;
  if (crowded_lines_.size() < kMaxBadLines) crowded_lines_.push_back(std::move(line));
}

std::string LogReader::why_no_token() const {
  constexpr std::string_view kAnyToken = ":::MLL";
  constexpr size_t kBeginning = 64;
  if (whole_ && text_.empty()) return "the file is empty";
  if (const size_t at = text_.find(kAnyToken); at != text_.npos) {
    const size_t end = text_.find_first_of(" \t{\r\n", at);
    return fmt::format("line {} has '{}' where '{}' was expected", line_number(at),
                       text_.substr(at, std::min(end - at, kBeginning)), token_of(format_));
  }
  if (text_.substr(0, kBeginning).find('\0') != text_.npos)
    return "the file is not UTF-8 text (convert UTF-16 with: iconv -f UTF-16 -t UTF-8 OLD > NEW)";
  return fmt::format("no line holds '{}'", strip_right(token_of(format_)));
}

void LogReader::scan_text() {
  const std::string_view token = token_of(format_);
  const std::string_view text = text_;
  LineParser parser(decoded_keys_);
  for (size_t at = find_token(text, token, 0); at != text.npos;) {
    const size_t line_end = std::min(find_line_end(text, at), text.size());
    const size_t last = find_last_token(text, token, at, line_end);
    const std::string_view line = strip_right(text.substr(last, line_end - last));
    if (last != at) note_crowded(text.substr(at, last - at), at);
    Event event;
    event.offset = last;
    if (const char* reason = parser.parse(line, format_, event)) {
      add_bad_line(last, line, reason);
    } else {
      events_.push_back(event);
    }
    at = find_token(text, token, line_end);
  }
  event_count_ = events_.size();
}

void LogReader::visit(const std::function<bool(const Event&)>& visit) const {
  if (!whole_) {
    const_cast<LogReader*>(this)->scan_file(visit, false);
    return;
  }
  for (const Event& event : events_) {
    if (!visit(event)) return;
  }
}

void LogReader::scan_file(const std::function<bool(const Event&)>& visit, bool count_bad_lines) {
  constexpr size_t kPieceBytes = 1u << 20;
  const std::string_view token = token_of(format_);
  std::ifstream file = open_to_read(path_, std::ios::binary);
  if (!file) fail("{}: cannot open", path_.string());
  std::string buffer;
  uint64_t base = 0;  // file offset of buffer[0]
  bool at_end = false;
  const auto read_more = [&](size_t keep_from) {
    base += keep_from;
    buffer.erase(0, keep_from);
    const size_t kept = buffer.size();
    buffer.resize(kept + kPieceBytes);
    file.read(buffer.data() + kept, kPieceBytes);
    buffer.resize(kept + static_cast<size_t>(file.gcount()));
    at_end = file.gcount() == 0;
    if (file.bad()) fail("{}: cannot read beyond byte {}", path_.string(), base + kept);
  };
  read_more(0);
  size_t from = 0;
  for (;;) {
    const size_t at = find_token(buffer, token, from);
    if (at == buffer.npos) {
      if (at_end) return;
      read_more(std::max(from, buffer.size() - std::min(buffer.size(), token.size() - 1)));
      from = 0;
      continue;
    }
    size_t line_end = find_line_end(buffer, at);
    if (line_end == buffer.npos && !at_end && buffer.size() - at <= kMaxLineBytes) {
      read_more(at);
      from = 0;
      continue;
    }
    if (line_end == buffer.npos && !at_end) {
      if (count_bad_lines)
        add_bad_line(base + at, std::string_view(buffer).substr(at), "the line is too long");
      // Skips the rest of the line, including any token in it.
      while ((line_end = find_line_end(buffer, 0)) == buffer.npos && !at_end)
        read_more(buffer.size());
      if (line_end == buffer.npos) return;
      from = line_end;
      continue;
    }
    line_end = std::min(line_end, buffer.size());
    const std::string_view text(buffer);
    const size_t last = find_last_token(text, token, at, line_end);
    const std::string_view line = strip_right(text.substr(last, line_end - last));
    if (last != at && count_bad_lines) note_crowded(text.substr(at, last - at), base + at);
    std::deque<std::string> decoded_keys;
    Event event;
    event.offset = base + last;
    if (const char* reason = LineParser(decoded_keys).parse(line, format_, event)) {
      if (count_bad_lines) add_bad_line(event.offset, line, reason);
    } else if (!visit(event)) {
      return;
    }
    from = line_end;
  }
}

uint64_t LogReader::line_number(uint64_t offset) const {
  uint64_t lines = 1;
  const auto count = [&](std::string_view piece) {
    lines += static_cast<uint64_t>(std::ranges::count(piece, '\n'));
  };
  if (whole_) {
    count(std::string_view(text_).substr(0, offset));
    return lines;
  }
  std::ifstream file = open_to_read(path_, std::ios::binary);
  std::string piece(1u << 20, '\0');
  for (uint64_t left = offset; left > 0 && file;) {
    file.read(piece.data(), static_cast<std::streamsize>(std::min<uint64_t>(left, piece.size())));
    const auto read = static_cast<uint64_t>(file.gcount());
    if (read == 0) break;
    count(std::string_view(piece).substr(0, read));
    left -= read;
  }
  return lines;
}

}  // namespace strata::mllog

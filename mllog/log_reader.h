// The MLPerf events of one log file: every `:::MLLOG {...}` line; other lines are ignored.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace strata::mllog {

// One event. The views point into the log's memory; for a log read in pieces they are valid only
// during the visit.
struct Event {
  std::string_view key;       // decoded; empty if the key is not a string
  std::string_view value;     // JSON text of "value"; round 0.6: of the whole record
  std::string_view metadata;  // JSON text of "metadata"; empty for round 0.6
  std::string_view line;      // from the token to the end of the line, without trailing space
  double time_ms = 0;         // milliseconds since the epoch (round 0.6: seconds)
  uint64_t offset = 0;        // offset of the token, in bytes from the start of the file
};

// A line with a token but without a valid event.
struct BadLine {
  uint64_t offset = 0;
  std::string text;  // its first bytes
  std::string reason;
};

// A line with several tokens. Like the official checker, we read only the last event.
struct CrowdedLine {
  uint64_t offset = 0;  // offset of the first token
  std::string lost;  // keys of the events that are not read; "part of an event" if one is damaged
};

enum class LogFormat {
  kMllog,  // `:::MLLOG {json}`: rounds 0.7 and later
  kMll,    // `:::MLL seconds key: {json}`: round 0.6
};

// A line ends at \n or \r, as in Python's text mode. If a line has several tokens, the last one
// counts, and crowded_lines() lists the line. Files up to kWholeFileBytes are held in memory.
// Larger ones are read again in pieces at every visit, so that memory use is constant.
class LogReader {
 public:
  static constexpr uint64_t kWholeFileBytes = 16u << 20;
  // A larger file is refused.
  static constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;
  // A longer line with a token is a bad line.
  static constexpr size_t kMaxLineBytes = 32u << 20;

  // Throws Error, a std::runtime_error, if `path` is not a readable regular file or is too large.
  explicit LogReader(const std::filesystem::path& path, LogFormat format = LogFormat::kMllog);
  LogReader(LogReader&&) = default;
  LogReader& operator=(LogReader&&) = default;
  // Reads the events of a text in memory; `name` stands for the path in messages.
  static LogReader from_text(std::string text, std::string name,
                             LogFormat format = LogFormat::kMllog);

  // Calls `visit` with every event in order, until it returns false.
  void visit(const std::function<bool(const Event&)>& visit) const;

  // All events, if they are held in memory (is_whole()).
  const std::vector<Event>& events() const { return events_; }
  bool is_whole() const { return whole_; }
  uint64_t event_count() const { return event_count_; }
  // The first kMaxBadLines bad lines are kept; all are counted.
  static constexpr size_t kMaxBadLines = 20;
  const std::vector<BadLine>& bad_lines() const { return bad_lines_; }
  uint64_t bad_line_count() const { return bad_line_count_; }

  // Lines with several events, of which only the last is read. The first kMaxBadLines are kept; all
  // are counted.
  const std::vector<CrowdedLine>& crowded_lines() const { return crowded_lines_; }
  uint64_t crowded_line_count() const { return crowded_line_count_; }

  // Explains why a log has neither events nor bad lines.
  std::string why_no_token() const;

  const std::filesystem::path& path() const { return path_; }
  // Returns the 1-based line of a byte offset, counted by line feeds as editors and grep do. Reads
  // the file up to the offset.
  uint64_t line_number(uint64_t offset) const;

 private:
  LogReader() = default;
  void scan_text();
  void scan_file(const std::function<bool(const Event&)>& visit, bool count_bad_lines);
  void add_bad_line(uint64_t offset, std::string_view text, const char* reason);
  void note_crowded(std::string_view tokens, uint64_t offset);

  std::filesystem::path path_;
  LogFormat format_ = LogFormat::kMllog;
  bool whole_ = true;
  std::string text_;
  std::vector<Event> events_;
  std::deque<std::string> decoded_keys_;
  std::vector<BadLine> bad_lines_;
  std::vector<CrowdedLine> crowded_lines_;
  uint64_t event_count_ = 0;
  uint64_t bad_line_count_ = 0;
  uint64_t crowded_line_count_ = 0;
};

}  // namespace strata::mllog

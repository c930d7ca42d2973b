// The MLPerf log of one run: ":::MLLOG {...}" lines, written as events happen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "mllog/log_clock.h"
#include "mllog/log_value.h"

namespace strata::mllog {

// A line of source code. Clang 14 does not support std::source_location.
struct SourceLine {
  const char* file;
  int line;

  // Returns the line of the call, or of the call that uses it as a default argument.
  static constexpr SourceLine current(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    return {file, line};
  }
};

struct LogWriterOptions {
  LogClock clock;
  // Prefix that is removed from the source paths in "metadata".
  std::string source_root;
  // Advice for the user if the log cannot be written.
  std::string advice = "write the log elsewhere";
};

// Every line is appended by one write, so that other and killed processes leave only whole lines;
// an incomplete line is removed. run_stop also flushes the file to disk. A full disk or missing
// permission throws Error, a std::runtime_error, naming the path, unless lines may wait. Only one
// thread at a time may use a writer.
class LogWriter {
 public:
  LogWriter() = default;  // writes nothing: for all ranks but the logging one
  // Creates the file and its directories. Throws Error if a nonempty file exists: results are never
  // overwritten. Event times come from the clock and never decrease.
  explicit LogWriter(std::filesystem::path path, LogWriterOptions options = {});
  // Continues the log of a dead process and removes its unfinished last line. Event times start no
  // earlier than the log's last event and `earliest_ms`. clock().moved_forward_by() tells how far
  // the machine's clock was behind.
  static LogWriter reopen(std::filesystem::path path, LogWriterOptions options = {},
                          int64_t earliest_ms = 0);
  ~LogWriter();
  LogWriter(LogWriter&& other) noexcept;
  LogWriter& operator=(LogWriter&& other) noexcept;

  bool enabled() const { return fd_ >= 0; }
  const std::filesystem::path& path() const { return path_; }
  const LogClock& clock() const { return options_.clock; }
  int64_t last_time_ms() const {
    return last_time_ms_;
  }  // time of the last event; 0 before the first

  // Write one line each, of type INTERVAL_START, INTERVAL_END and POINT_IN_TIME. Its "metadata"
  // holds "file" and "lineno" of the caller, then `metadata`.
  void start(std::string_view key, const EventMetadata& metadata = {},
             SourceLine where = SourceLine::current());
  void end(std::string_view key, const EventValue& value = {}, const EventMetadata& metadata = {},
           SourceLine where = SourceLine::current());
  void event(std::string_view key, const EventValue& value, const EventMetadata& metadata = {},
             SourceLine where = SourceLine::current());
  // Flushes the file to disk.
  void flush();

  // From now on, lines that cannot be written wait in memory, up to `most_bytes`, and are tried
  // again before each later line. A message on standard error tells once that lines wait, and once
  // that they were written. Throws Error if the limit is exceeded.
  void let_lines_wait(size_t most_bytes) { most_waiting_ = most_bytes; }
  // Tries to write the waiting lines. Returns true if none is left.
  bool write_waiting();
  // The waiting lines, and the errno of the last attempt.
  const std::string& waiting() const { return waiting_; }
  int waiting_because() const { return waiting_because_; }
  // Discards the waiting lines.
  void drop_waiting() { waiting_.clear(); }

 private:
  void write_line(std::string_view type, std::string_view key, const EventValue& value,
                  const EventMetadata& metadata, const SourceLine& where);
  int write_whole(std::string_view lines, bool to_the_end);
  bool reserve(int64_t bytes) noexcept;
  void close() noexcept;

  std::filesystem::path path_;
  LogWriterOptions options_;
  int fd_ = -1;
  int64_t bytes_ = 0;
  int64_t reserved_ = 0;  // bytes reserved on disk; 0 if the file system cannot
  int64_t last_time_ms_ = 0;
  size_t most_waiting_ = 0;  // bytes
  std::string waiting_;      // whole lines
  int waiting_because_ = 0;
  bool run_stop_waits_ = false;
};

// Returns the latest event time in a log, in milliseconds since 1970; 0 without events. Ignores an
// unfinished last line. Throws Error if the file cannot be read.
int64_t latest_time_ms(const std::filesystem::path& log);

}  // namespace strata::mllog

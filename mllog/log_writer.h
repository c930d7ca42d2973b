// The MLPerf log of one run: ":::MLLOG {...}" lines, written as they happen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "mllog/log_clock.h"
#include "mllog/log_value.h"

namespace strata::mllog {

// A line of source. (std::source_location is more than Clang 14 can do.)
struct SourceLine {
  const char* file;
  int line;

  // That of the call, or of the call whose default argument this is.
  static constexpr SourceLine current(const char* file = __builtin_FILE(),
                                      int line = __builtin_LINE()) {
    return {file, line};
  }
};

struct LogWriterOptions {
  LogClock clock;
  // Taken off the front of the paths of source files, which "metadata" names.
  std::string source_root;
  // What a user whose log cannot be written is told to do.
  std::string advice = "write the log elsewhere";
};

// Every line reaches the file by one write at its end, so that another process, or a killed one,
// leaves whole lines only; a line that did not fit is taken back. run_stop also flushes the file to
// disk. Errors (a full disk, no permission) throw Error, a std::runtime_error, naming the path,
// unless lines may wait. One thread at a time may use a writer.
class LogWriter {
 public:
  LogWriter() = default;  // writes nothing: for every rank but the logging one
  // Makes the file and its directories. An existing file that is not empty is an Error: results are
  // never overwritten. Its times are the clock's, and never fall.
  explicit LogWriter(std::filesystem::path path, LogWriterOptions options = {});
  // Goes on with the log of a process that is gone; takes away a line that it left unfinished. The
  // next event's time is the clock's, but no earlier than the log's last event and `earliest_ms`;
  // clock().moved_forward_by() tells how far the machine's clock was behind.
  static LogWriter reopen(std::filesystem::path path, LogWriterOptions options = {},
                          int64_t earliest_ms = 0);
  ~LogWriter();
  LogWriter(LogWriter&& other) noexcept;
  LogWriter& operator=(LogWriter&& other) noexcept;

  bool enabled() const { return fd_ >= 0; }
  const std::filesystem::path& path() const { return path_; }
  const LogClock& clock() const { return options_.clock; }
  int64_t last_time_ms() const { return last_time_ms_; }  // of an event; 0: there is none

  // One line each, of type INTERVAL_START, INTERVAL_END and POINT_IN_TIME. Its "metadata" holds
  // "file" and "lineno" of the caller, then `metadata`.
  void start(std::string_view key, const EventMetadata& metadata = {},
             SourceLine where = SourceLine::current());
  void end(std::string_view key, const EventValue& value = {}, const EventMetadata& metadata = {},
           SourceLine where = SourceLine::current());
  void event(std::string_view key, const EventValue& value, const EventMetadata& metadata = {},
             SourceLine where = SourceLine::current());
  // To disk.
  void flush();

  // From now on lines that cannot be written wait in memory, up to `most_bytes` of them, and are
  // tried again before each line that follows. Standard error is told once that lines wait, and
  // once that they are written. What does not fit throws Error.
  void let_lines_wait(size_t most_bytes) { most_waiting_ = most_bytes; }
  // Tries to write the lines that wait. Returns whether none does any more.
  bool write_waiting();
  // The lines that wait, and why the last attempt failed (an errno).
  const std::string& waiting() const { return waiting_; }
  int waiting_because() const { return waiting_because_; }
  // They will not be in the log.
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
  int64_t reserved_ = 0;  // bytes of disk held for the log; 0: the file system cannot
  int64_t last_time_ms_ = 0;
  size_t most_waiting_ = 0;  // bytes
  std::string waiting_;      // whole lines
  int waiting_because_ = 0;
  bool run_stop_waits_ = false;
};

// The latest time of the events of a log, in milliseconds since 1970; 0 if it has none. A last line
// without its end does not count. Throws Error if the file cannot be read.
int64_t latest_time_ms(const std::filesystem::path& log);

}  // namespace strata::mllog

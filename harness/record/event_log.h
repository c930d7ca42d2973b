// The MLPerf log of one run: ":::MLLOG {...}" lines, written as they happen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/record/log_clock.h"

namespace strata::harness {

// A JSON scalar; monostate is null.
using EventValue = std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string>;

struct EventField {
  std::string_view key;
  EventValue value;
};
// Follows "file" and "lineno" of the caller in the line's metadata.
using EventMetadata = std::vector<EventField>;

// Every line reaches the file by one write, so that another process, or a killed one, leaves whole
// lines only; a line that did not fit is taken back. run_stop also flushes the file to disk.
// Errors (a full disk, no permission) throw Error naming the path.
class EventLog {
 public:
  EventLog() = default;  // writes nothing: for every rank but the logging one
  // Makes the file and its directories. An existing file is an Error: results are never
  // overwritten. Its times are `clock`'s, and never fall.
  explicit EventLog(std::filesystem::path path, LogClock clock = {});
  // Goes on with the log of a process that is gone; takes away a line that it left unfinished.
  static EventLog reopen(std::filesystem::path path, LogClock clock = {});
  ~EventLog();
  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&& other) noexcept;

  bool enabled() const { return fd_ >= 0; }
  const std::filesystem::path& path() const { return path_; }
  const LogClock& clock() const { return clock_; }
  int64_t last_time_ms() const { return last_time_ms_; }  // of an event; 0: there is none

  void start(std::string_view key, const EventMetadata& metadata = {},
             std::source_location where = std::source_location::current());
  void end(std::string_view key, const EventValue& value = {}, const EventMetadata& metadata = {},
           std::source_location where = std::source_location::current());
  // To disk.
  void flush();
  void event(std::string_view key, const EventValue& value, const EventMetadata& metadata = {},
             std::source_location where = std::source_location::current());

 private:
  void write_line(std::string_view type, std::string_view key, const EventValue& value,
                  const EventMetadata& metadata, const std::source_location& where);
  bool reserve(int64_t bytes) noexcept;
  void close() noexcept;

  std::filesystem::path path_;
  LogClock clock_;
  int fd_ = -1;
  int64_t bytes_ = 0;
  int64_t reserved_ = 0;  // bytes of disk held for the log; 0: the file system cannot
  int64_t last_time_ms_ = 0;
};

}  // namespace strata::harness

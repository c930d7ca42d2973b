#include "mllog/log_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/write_all.h"
#include "mllog/log_keys.h"
#include "mllog/log_reader.h"

namespace strata::mllog {
namespace {

// Disk space is reserved beyond the log's end in blocks of this size. The last part is kept for
// run_stop, so that a run that fills the disk can still log its end.
constexpr int64_t kReservedAtOnce = 1 << 16;
constexpr int64_t kKeptForTheEnd = 1 << 12;

std::string quoted(std::string_view text) { return to_json(std::string(text)); }

std::string_view without_root(std::string_view file, std::string_view root) {
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

// Returns the latest event time in a log of whole lines; 0 without events.
int64_t latest_time_ms_of(std::string text) {
  constexpr double kLatestTime = 1e15;  // later times are damage, and may not fit an integer
  double latest = 0;
  const LogReader log = LogReader::from_text(std::move(text), "");
  for (const Event& event : log.events()) {
    if (event.time_ms < kLatestTime) latest = std::max(latest, event.time_ms);
  }
  return static_cast<int64_t>(latest);
}

std::string whole_lines_of(const std::filesystem::path& log) {
  std::string text = read_file(log);
  text.resize(text.rfind('\n') + 1);  // empty if there is no whole line
  return text;
}

}  // namespace

LogWriter::LogWriter(std::filesystem::path path, LogWriterOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  std::error_code error;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  if (error) fail("{}: cannot create its directory: {}", path_.string(), error.message());
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail("{}: cannot open for writing: {}", path_.string(), std::strerror(errno));
  struct stat status;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    ::close(fd);
    fail("{}: exists already; move it away or {}", path_.string(), options_.advice);
  }
  fd_ = fd;
  reserve(kReservedAtOnce);
}

LogWriter LogWriter::reopen(std::filesystem::path path, LogWriterOptions options,
                            int64_t earliest_ms) {
  std::string text = whole_lines_of(path);
  LogWriter log;
  log.path_ = std::move(path);
  log.options_ = std::move(options);
  log.bytes_ = std::ssize(text);
  log.last_time_ms_ = latest_time_ms_of(std::move(text));
  log.options_.clock.start_no_earlier_than(std::max(log.last_time_ms_, earliest_ms));
  log.fd_ = ::open(log.path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (log.fd_ < 0 || ::ftruncate(log.fd_, log.bytes_) != 0) {
    fail("{}: cannot continue this log: {}", log.path_.string(), std::strerror(errno));
  }
  return log;
}

LogWriter::~LogWriter() { close(); }

LogWriter::LogWriter(LogWriter&& other) noexcept { *this = std::move(other); }

LogWriter& LogWriter::operator=(LogWriter&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  options_ = std::move(other.options_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_ = other.bytes_;
  reserved_ = other.reserved_;
  last_time_ms_ = other.last_time_ms_;
  most_waiting_ = other.most_waiting_;
  waiting_ = std::move(other.waiting_);
  waiting_because_ = other.waiting_because_;
  run_stop_waits_ = other.run_stop_waits_;
  return *this;
}

// The log also works on file systems without fallocate.
bool LogWriter::reserve(int64_t bytes) noexcept {
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0) return false;
  reserved_ = bytes;
  return true;
}

void LogWriter::close() noexcept {
  if (fd_ < 0) return;
  // Releases the reserved space.
  (void)!::ftruncate(fd_, bytes_);
  ::close(fd_);
  fd_ = -1;
}

void LogWriter::start(std::string_view key, const EventMetadata& metadata, SourceLine where) {
  write_line("INTERVAL_START", key, {}, metadata, where);
}

void LogWriter::end(std::string_view key, const EventValue& value, const EventMetadata& metadata,
                    SourceLine where) {
  write_line("INTERVAL_END", key, value, metadata, where);
  if (key == keys::kRunStop && waiting_.empty()) flush();
}

void LogWriter::flush() {
  if (enabled() && ::fsync(fd_) != 0 && errno != EINVAL) {
    fail("{}: cannot flush the log to disk: {}", path_.string(), std::strerror(errno));
  }
}

void LogWriter::event(std::string_view key, const EventValue& value, const EventMetadata& metadata,
                      SourceLine where) {
  write_line("POINT_IN_TIME", key, value, metadata, where);
}

void LogWriter::write_line(std::string_view type, std::string_view key, const EventValue& value,
                           const EventMetadata& metadata, const SourceLine& where) {
  if (!enabled()) return;
  const auto json_of = [&](const EventValue& held) {
    try {
      return to_json(held);
    } catch (const Error& error) {
      fail("{}: event '{}': {}", path_.string(), key, error.what());
    }
  };
  last_time_ms_ = std::max(last_time_ms_, options_.clock.now());
  std::string line = fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": {}, "
      "\"value\": {}, \"metadata\": {{\"file\": {}, \"lineno\": {}",
      last_time_ms_, type, quoted(key), json_of(value),
      quoted(without_root(where.file, options_.source_root)), where.line);
  for (const EventField& field : metadata) {
    line += fmt::format(", {}: {}", quoted(field.key), json_of(field.value));
  }
  line += "}}\n";

  const bool last = key == keys::kRunStop;
  if (write_waiting()) {
    waiting_because_ = write_whole(line, last);
    if (waiting_because_ == 0) return;
  }
  if (waiting_.size() + line.size() > most_waiting_) {
    fail("{}: cannot write event '{}': {}; the log is complete up to the {}. Free space, or {}",
         path_.string(), key, std::strerror(waiting_because_),
         waiting_.empty() ? "previous event" : "events that wait for space", options_.advice);
  }
  if (waiting_.empty()) {
    print_to_stderr(
        "\nstrata: {}: cannot write event '{}': {}; events wait in memory until there is space\n",
        path_.string(), key, std::strerror(waiting_because_));
  }
  waiting_ += line;
  run_stop_waits_ = last;
}

bool LogWriter::write_waiting() {
  if (waiting_.empty()) return true;
  waiting_because_ = write_whole(waiting_, run_stop_waits_);
  if (waiting_because_ != 0) return false;
  waiting_.clear();
  print_to_stderr("\nstrata: {}: the events that waited for space are written\n", path_.string());
  return true;
}

// Writes all of `lines` or nothing. Uses the space kept for the end only with `to_the_end`. Returns
// 0 or an errno.
int LogWriter::write_whole(std::string_view lines, bool to_the_end) {
  const int64_t needed = bytes_ + std::ssize(lines) + kKeptForTheEnd;
  if (!to_the_end && reserved_ > 0 && needed > reserved_ &&
      !reserve(needed + kReservedAtOnce - kKeptForTheEnd)) {
    return errno;
  }
  if (!write_all(fd_, lines)) {
    const int reason = errno;
    (void)!::ftruncate(fd_, bytes_);
    return reason;
  }
  bytes_ += std::ssize(lines);
  return 0;
}

int64_t latest_time_ms(const std::filesystem::path& log) {
  return latest_time_ms_of(whole_lines_of(log));
}

}  // namespace strata::mllog

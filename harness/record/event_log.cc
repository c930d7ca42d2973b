#include "harness/record/event_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "harness/record/log_keys.h"

namespace strata::harness {
namespace {

// Disk space is held beyond the log's end, this much at a time; the last of it is kept for
// run_stop, so that a run which finds the disk full can still say how it ended.
constexpr int64_t kReservedAtOnce = 1 << 16;
constexpr int64_t kKeptForTheEnd = 1 << 12;

std::string to_json(const EventValue& value) {
  const nlohmann::json json = std::visit(
      [](const auto& held) -> nlohmann::json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
  return json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// The path of a source file below the root of the source tree.
std::string_view below_source_root(std::string_view file) {
  constexpr std::string_view kThisFile = "harness/record/event_log.cc";
  const std::string_view here = std::source_location::current().file_name();
  const std::string_view root = here.substr(0, here.size() - kThisFile.size());
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

// Of the last event of a log of whole lines; 0 where there is none.
int64_t last_time_ms_of(std::string_view text) {
  constexpr std::string_view kField = "\"time_ms\": ";
  const size_t at = text.rfind(kField);
  int64_t time_ms = 0;
  if (at != std::string_view::npos) {
    std::from_chars(text.data() + at + kField.size(), text.data() + text.size(), time_ms);
  }
  return time_ms;
}

}  // namespace

EventLog::EventLog(std::filesystem::path path, LogClock clock)
    : path_(std::move(path)), clock_(std::move(clock)) {
  std::error_code error;
  if (path_.has_parent_path()) std::filesystem::create_directories(path_.parent_path(), error);
  if (error) fail("{}: cannot make its directory: {}", path_.string(), error.message());
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail("{}: cannot open for writing: {}", path_.string(), std::strerror(errno));
  struct stat status;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    ::close(fd);
    fail("{}: exists already; move it away or choose another run.output", path_.string());
  }
  fd_ = fd;
  reserve(kReservedAtOnce);
}

EventLog EventLog::reopen(std::filesystem::path path, LogClock clock) {
  std::string text = read_file(path);
  text.resize(text.rfind('\n') + 1);  // to nothing where there is no whole line
  EventLog log;
  log.path_ = std::move(path);
  log.clock_ = std::move(clock);
  log.bytes_ = std::ssize(text);
  log.last_time_ms_ = last_time_ms_of(text);
  log.fd_ = ::open(log.path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (log.fd_ < 0 || ::ftruncate(log.fd_, log.bytes_) != 0) {
    fail("{}: cannot go on with this log: {}", log.path_.string(), std::strerror(errno));
  }
  return log;
}

EventLog::~EventLog() { close(); }

EventLog::EventLog(EventLog&& other) noexcept { *this = std::move(other); }

EventLog& EventLog::operator=(EventLog&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  clock_ = std::move(other.clock_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_ = other.bytes_;
  reserved_ = other.reserved_;
  last_time_ms_ = other.last_time_ms_;
  return *this;
}

// Not every file system can; the log works without.
bool EventLog::reserve(int64_t bytes) noexcept {
  if (::fallocate(fd_, FALLOC_FL_KEEP_SIZE, 0, bytes) != 0) return false;
  reserved_ = bytes;
  return true;
}

void EventLog::close() noexcept {
  if (fd_ < 0) return;
  // Gives back what was reserved.
  (void)!::ftruncate(fd_, bytes_);
  ::close(fd_);
  fd_ = -1;
}

void EventLog::start(std::string_view key, const EventMetadata& metadata,
                     std::source_location where) {
  write_line("INTERVAL_START", key, {}, metadata, where);
}

void EventLog::end(std::string_view key, const EventValue& value, const EventMetadata& metadata,
                   std::source_location where) {
  write_line("INTERVAL_END", key, value, metadata, where);
  if (key == log_keys::kRunStop) flush();
}

void EventLog::flush() {
  if (enabled() && ::fsync(fd_) != 0 && errno != EINVAL) {
    fail("{}: cannot flush the log to disk: {}", path_.string(), std::strerror(errno));
  }
}

void EventLog::event(std::string_view key, const EventValue& value, const EventMetadata& metadata,
                     std::source_location where) {
  write_line("POINT_IN_TIME", key, value, metadata, where);
}

void EventLog::write_line(std::string_view type, std::string_view key, const EventValue& value,
                          const EventMetadata& metadata, const std::source_location& where) {
  if (!enabled()) return;
  last_time_ms_ = std::max(last_time_ms_, clock_.now());
  std::string line = fmt::format(
      ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {}, \"event_type\": \"{}\", \"key\": {}, "
      "\"value\": {}, \"metadata\": {{\"file\": {}, \"lineno\": {}",
      last_time_ms_, type, to_json(std::string(key)), to_json(value),
      to_json(std::string(below_source_root(where.file_name()))), where.line());
  for (const EventField& field : metadata) {
    line += fmt::format(", {}: {}", to_json(std::string(field.key)), to_json(field.value));
  }
  line += "}}\n";

  const bool last = key == log_keys::kRunStop;
  const int64_t needed = bytes_ + static_cast<int64_t>(line.size()) + kKeptForTheEnd;
  ssize_t written = -1;
  if (last || reserved_ == 0 || needed <= reserved_ || reserve(reserved_ + kReservedAtOnce)) {
    do {
      written = ::write(fd_, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
  }
  if (written == static_cast<ssize_t>(line.size())) {
    bytes_ += written;
    return;
  }
  const int reason = written < 0 ? errno : ENOSPC;
  (void)!::ftruncate(fd_, bytes_);
  fail(
      "{}: cannot write event '{}': {}; the log is whole up to the event before. Free space, or "
      "choose another run.output",
      path_.string(), key, std::strerror(reason));
}

}  // namespace strata::harness

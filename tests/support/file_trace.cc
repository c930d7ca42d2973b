// A preloaded library that traces file accesses. For every file below STRATA_TRACE_FOLDER that the
// program opens, reads, maps or drops from the page cache, and for every log event that it writes,
// it appends a line to STRATA_TRACE: "open PATH", "read PATH", "map PATH", "drop PATH", "event
// KEY". Each line is one write, because processes share the file. If they are set,
// STRATA_TRACE_CLOCK_SET shifts the wall clock by this many seconds from the event run_start on,
// and STRATA_TRACE_SLOW delays the line of run_stop by this many microseconds.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

namespace {

std::atomic<bool> started = false;  // run_start has been written

long number_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? std::atol(value) : 0;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

ssize_t really_write(int fd, const void* data, size_t size) {
  static const auto write = next<ssize_t (*)(int, const void*, size_t)>("write");
  return write(fd, data, size);
}

int really_open(const char* path, int flags, mode_t mode) {
  static const auto open = next<int (*)(const char*, int, ...)>("open");
  return open(path, flags, mode);
}

void note(const char* what, std::string_view of) {
  const char* trace = std::getenv("STRATA_TRACE");
  if (!trace) return;
  const int fd = really_open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const std::string line = std::string(what) + " " + std::string(of) + "\n";
  (void)!really_write(fd, line.data(), line.size());
  ::close(fd);
}

bool is_watched(std::string_view path) {
  const char* folder = std::getenv("STRATA_TRACE_FOLDER");
  return folder && path.starts_with(folder);
}

void note_path(const char* what, const char* path) {
  if (path && is_watched(path)) note(what, path);
}

void note_fd(const char* what, int fd) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = ::readlink(link, path, sizeof path);
  if (size > 0 && is_watched({path, static_cast<size_t>(size)})) {
    note(what, {path, static_cast<size_t>(size)});
  }
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  note_path("open", path);
  return really_open(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  note_path("open", path);
  return really_open(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = static_cast<mode_t>(va_arg(arguments, unsigned));
  va_end(arguments);
  note_path("open", path);
  static const auto really = next<int (*)(int, const char*, int, ...)>("openat");
  return really(folder, path, flags, mode);
}
// Streams read files by functions that cannot be intercepted.
FILE* fopen(const char* path, const char* mode) {
  note_path("open", path);
  note_path("read", path);
  static const auto really = next<FILE* (*)(const char*, const char*)>("fopen");
  return really(path, mode);
}
FILE* fopen64(const char* path, const char* mode) { return fopen(path, mode); }

ssize_t read(int fd, void* data, size_t size) {
  note_fd("read", fd);
  static const auto really = next<ssize_t (*)(int, void*, size_t)>("read");
  return really(fd, data, size);
}
ssize_t pread(int fd, void* data, size_t size, off_t offset) {
  note_fd("read", fd);
  static const auto really = next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  return really(fd, data, size, offset);
}
ssize_t pread64(int fd, void* data, size_t size, off64_t offset) {
  return pread(fd, data, size, offset);
}
ssize_t readv(int fd, const iovec* parts, int count) {
  note_fd("read", fd);
  static const auto really = next<ssize_t (*)(int, const iovec*, int)>("readv");
  return really(fd, parts, count);
}
void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fd >= 0) note_fd("map", fd);
  static const auto really = next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap");
  return really(address, size, protection, flags, fd, offset);
}
void* mmap64(void* address, size_t size, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, size, protection, flags, fd, offset);
}
int posix_fadvise(int fd, off_t offset, off_t size, int advice) {
  if (advice == POSIX_FADV_DONTNEED) note_fd("drop", fd);
  static const auto really = next<int (*)(int, off_t, off_t, int)>("posix_fadvise");
  return really(fd, offset, size, advice);
}
ssize_t write(int fd, const void* data, size_t size) {
  const std::string_view text(static_cast<const char*>(data), size);
  if (text.starts_with(":::MLLOG")) {
    constexpr std::string_view kKey = "\"key\": \"";
    const size_t begin = text.find(kKey);
    if (begin != std::string_view::npos) {
      const std::string_view key = text.substr(begin + kKey.size());
      note("event", key.substr(0, key.find('"')));
      if (key.starts_with("run_start\"")) started = true;
      if (key.starts_with("run_stop\"")) ::usleep(number_of("STRATA_TRACE_SLOW"));
    }
  }
  return really_write(fd, data, size);
}
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto really = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = really(clock, time);
  if (clock == CLOCK_REALTIME && started) time->tv_sec += number_of("STRATA_TRACE_CLOCK_SET");
  return result;
}

}  // extern "C"

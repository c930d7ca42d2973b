#include "harness/record/record_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/files/write_all.h"

namespace strata::harness {

RecordFile::RecordFile(std::filesystem::path path, Begin begin) : path_(std::move(path)) {
  const int mode = begin == Begin::kEmpty ? O_TRUNC : 0;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | mode, 0644);
  if (fd_ < 0 && errno == ELOOP) {
    fail("{}: is a link, and results are not written through links; move it away", path_.string());
  }
  if (fd_ < 0) fail("{}: cannot open for writing: {}", path_.string(), std::strerror(errno));
  struct stat status;
  if (::fstat(fd_, &status) == 0) bytes_ = status.st_size;
}

RecordFile& RecordFile::operator=(RecordFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_ = other.bytes_;
  missing_ = std::exchange(other.missing_, 0);
  first_missing_ = other.first_missing_;
  last_missing_ = other.last_missing_;
  reason_ = other.reason_;
  flush_failed_ = other.flush_failed_;
  return *this;
}

bool RecordFile::append(std::string_view record, int64_t step) {
  if (fd_ < 0) return true;
  if (write_all(fd_, record)) {
    bytes_ += std::ssize(record);
    report();
    return true;
  }
  reason_ = errno;
  (void)!::ftruncate(fd_, bytes_);
  if (missing_++ == 0) first_missing_ = step;
  last_missing_ = step;
  return false;
}

void RecordFile::flush() noexcept {
  if (fd_ < 0) return;
  const bool failed = ::fsync(fd_) != 0 && errno != EINVAL && errno != EROFS;
  if (failed && !std::exchange(flush_failed_, true)) {
    std::fprintf(stderr, "\nstrata: %s: cannot flush to disk: %s\n", path_.c_str(),
                 std::strerror(errno));
  }
  if (!failed) flush_failed_ = false;
}

void RecordFile::close() noexcept {
  if (fd_ < 0) return;
  flush();
  report();
  ::close(fd_);
  fd_ = -1;
}

void RecordFile::report() noexcept {
  if (std::exchange(missing_, 0) == 0) return;
  try {
    const std::string steps =
        first_missing_ == last_missing_
            ? fmt::format("step {} is", first_missing_)
            : fmt::format("steps {} to {} are", first_missing_, last_missing_);
    print_to_stderr("\nstrata: {}: {} missing: {}\n", path_.string(), steps,
                    std::strerror(reason_));
  } catch (const std::exception&) {  // no memory for the line
  }
}

}  // namespace strata::harness

#include "compliance/trees/same_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "base/files/files.h"

namespace strata::compliance {
namespace {

constexpr size_t kPiece = 1 << 18;
constexpr off_t kMostBytes = off_t{16} << 30;

class RegularFile {
 public:
  explicit RegularFile(const std::filesystem::path& path) : path_(path) {
    // Opening a device may have side effects.
    if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored))
      fail("{}: is {}, a regular file was expected", path.string(), what_is_at(path));
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd_ < 0 || ::fstat(fd_, &status_) != 0) give_up();
  }
  ~RegularFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const struct stat& status() const { return status_; }
  // Returns less than a piece only at the file's end.
  size_t read(char* bytes) {
    size_t filled = 0;
    while (filled < kPiece) {
      const ssize_t count = ::read(fd_, bytes + filled, kPiece - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) give_up();
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    return filled;
  }

 private:
  [[noreturn]] void give_up() {
    const int cause = errno;
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    throw ReadError(fmt::format("{}: cannot be read: {}", path_.string(), std::strerror(cause)));
  }

  std::filesystem::path path_;
  int fd_ = -1;
  struct stat status_ = {};
};

}  // namespace

bool same_bytes(const std::filesystem::path& a, const std::filesystem::path& b) {
  RegularFile x(a), y(b);
  if (x.status().st_dev == y.status().st_dev && x.status().st_ino == y.status().st_ino) return true;
  if (x.status().st_size != y.status().st_size) return false;
  if (x.status().st_size > kMostBytes) {
    fail("{}: has {} bytes, too many to compare it with {}", a.string(), x.status().st_size,
         b.string());
  }
  const auto piece_x = std::make_unique<char[]>(kPiece), piece_y = std::make_unique<char[]>(kPiece);
  for (;;) {
    const size_t count = x.read(piece_x.get());
    if (count != y.read(piece_y.get())) return false;
    if (std::memcmp(piece_x.get(), piece_y.get(), count) != 0) return false;
    if (count < kPiece) return true;
  }
}

}  // namespace strata::compliance

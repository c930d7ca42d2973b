#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace strata {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::vector<std::filesystem::path> list_directory(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator entry(directory, error); !error && entry != end;
       entry.increment(error)) {
    paths.push_back(entry->path());
  }
  if (error) fail("{}: cannot list the directory: {}", directory.string(), error.message());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    fail("{}: is a directory, a file was expected", path.string());
  }
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("{}: cannot open: {}", path.string(), std::strerror(errno));
  std::string bytes;
  const auto size = std::filesystem::file_size(path, ignored);
  if (!ignored) bytes.reserve(size);
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("{}: cannot read: {}", path.string(), std::strerror(errno));
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) fail("{}: cannot create directory: {}", path.parent_path().string(), error.message());
  const std::string temporary = fmt::format("{}.tmp.{}", path.string(), ::getpid());
  const auto give_up = [&](const char* what) {
    const int cause = errno;
    ::unlink(temporary.c_str());
    fail("{}: cannot {}: {}", path.string(), what, std::strerror(cause));
  };
  {
    const FileDescriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) give_up("create");
    for (size_t written = 0; written < bytes.size();) {
      const ssize_t count = ::write(file.get(), bytes.data() + written, bytes.size() - written);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) give_up("write");
      written += static_cast<size_t>(count);
    }
    if (::fsync(file.get()) != 0) give_up("flush to disk");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) give_up("rename into place");
}

}  // namespace strata

#include "base/files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/files/write_all.h"

namespace strata {
namespace {

namespace fs = std::filesystem;

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

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Returns the status of the file at the end of `path`'s links; nullopt, with errno, if there is
// none.
std::optional<struct stat> status_of(const fs::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

// Returns the path at the end of `path`'s links, which need not exist.
fs::path follow_links(const fs::path& path) {
  constexpr int kMostLinks = 40;
  fs::path at = path;
  for (int i = 0; is_link(at); ++i) {
    if (i == kMostLinks) fail("{}: is part of a loop of links", path.string());
    std::error_code error;
    const fs::path target = fs::read_symlink(at, error);
    if (error) fail("{}: cannot read the link: {}", path.string(), error.message());
    at = at.parent_path() / target;
  }
  return at;
}

// Returns PID of the temporary file "NAME.tmp.PID.N", or 0 if `name` has another form, or if `of`
// is not empty and differs from NAME.
pid_t writer_of(std::string_view name, std::string_view of) {
  const size_t at = name.rfind(".tmp.");
  if (at == name.npos || at == 0 || (!of.empty() && name.substr(0, at) != of)) return 0;
  const std::string_view numbers = name.substr(at + 5);
  const size_t dot = numbers.find('.');
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
  };
  if (dot == numbers.npos || !is_number(numbers.substr(0, dot)) ||
      !is_number(numbers.substr(dot + 1))) {
    return 0;
  }
  return static_cast<pid_t>(std::stol(std::string(numbers.substr(0, dot))));
}

// True if this temporary file has no writer any more. The writer may run on another machine.
bool is_abandoned(const fs::path& path, pid_t writer) {
  // Far longer than a writer needs between creating and locking.
  constexpr time_t kSecondsToLock = 60;
  const FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const bool gone = ::kill(writer, 0) != 0 && errno == ESRCH;
  const bool old = ::time(nullptr) - status.st_mtime > kSecondsToLock;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return gone || old;
  return errno != EWOULDBLOCK && gone && old;  // a file system without locks
}

// Removes temporary files that killed writers have left next to `path`.
void remove_leftovers_of(const fs::path& path) {
  std::error_code ignored;
  const fs::path folder = path.parent_path();
  for (const fs::path& other : list_directory(folder.empty() ? "." : folder, ignored)) {
    const pid_t writer = writer_of(other.filename().native(), path.filename().native());
    if (writer > 0 && is_abandoned(other, writer)) ::unlink(other.c_str());
  }
}

// Creates a file under a new name and opens it for writing. It never writes to a file or link that
// another process made. Returns -1, with errno, on failure.
int create_temporary(const fs::path& path, std::string& name) {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    name = fmt::format("{}.tmp.{}.{}", path.string(), ::getpid(), i);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0) ::flock(fd, LOCK_SH | LOCK_NB);  // marks the file as being written
    if (fd >= 0 || errno != EEXIST) return fd;
  }
  return -1;
}

// Flushes the names in a folder. Some file systems cannot, and return an error that is ignored.
bool flush_folder(const fs::path& folder) {
  const FileDescriptor file(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder without read permission cannot be flushed.
  if (file.get() < 0) return errno == EACCES;
  return ::fsync(file.get()) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
}

// Creates the missing folders above `path`, and flushes their names.
void create_parents(const fs::path& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  if (!path.has_parent_path() || fs::is_directory(path.parent_path(), error)) return;
  for (fs::path folder = path.parent_path(); !folder.empty() && !fs::exists(folder, error);
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  fs::create_directories(path.parent_path(), error);
  if (error) fail("{}: cannot create directory: {}", path.parent_path().string(), error.message());
  for (const fs::path& folder : missing) flush_folder(folder.parent_path());
}

// Renames a file to an unused name. Returns false, with errno, on failure; EEXIST if the name is
// used.
bool rename_new(const char* from, const char* to) {
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
#endif
  // If the file system cannot refuse to replace, it can refuse a second link.
  return ::link(from, to) == 0 && ::unlink(from) == 0;
}

// Returns the standard stream that has this status, or null.
std::FILE* standard_stream(const struct stat& status) {
  for (std::FILE* stream : {stdout, stderr}) {
    struct stat own;
    if (::fstat(::fileno(stream), &own) == 0 && own.st_dev == status.st_dev &&
        own.st_ino == status.st_ino) {
      return stream;
    }
  }
  return nullptr;
}

// True if a call failed with this error because there is no such file.
bool is_absence(int error) { return error == ENOENT || error == ENOTDIR; }

std::string describe_mode(mode_t mode) {
  if (S_ISREG(mode)) return "a regular file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "neither a file nor a folder";
}

}  // namespace

bool is_missing(const fs::path& path) {
  return !status_of(path) && is_absence(errno) && !is_link(path);
}

std::string what_is_at(const fs::path& path) {
  if (const auto status = status_of(path)) return describe_mode(status->st_mode);
  const int cause = errno;
  if (is_link(path) && (is_absence(cause) || cause == ELOOP)) {
    std::error_code ignored;
    return fmt::format("a broken link (to {})", fs::read_symlink(path, ignored).string());
  }
  if (is_absence(cause)) return "missing";
  return fmt::format("not accessible: {}", std::strerror(cause));
}

std::vector<fs::path> list_directory(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> paths = list_directory(directory, error);
  if (error) fail("{}: cannot list the directory: {}", directory.string(), error.message());
  return paths;
}

std::vector<fs::path> list_directory(const fs::path& directory, std::error_code& error) {
  std::vector<fs::path> paths;
  const std::unique_ptr<DIR, CloseDirectory> stream(::opendir(directory.c_str()));
  if (!stream && errno == ENOMEM) throw std::bad_alloc();
  errno = stream ? 0 : errno;
  while (const dirent* entry = stream ? ::readdir(stream.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") paths.push_back(directory / name);
    errno = 0;
  }
  error = {errno, std::generic_category()};
  std::sort(paths.begin(), paths.end());
  return paths;
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (const fs::path& path : list_directory(folder, error)) {
    if (fs::is_directory(fs::symlink_status(path, error))) {
      remove_leftovers(path);
    } else if (const pid_t writer = writer_of(path.filename().native(), "");
               writer > 0 && is_abandoned(path, writer)) {
      ::unlink(path.c_str());
    }
  }
}

bool exists_or_is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

std::string read_file(const fs::path& path, uint64_t most_bytes) {
  const auto refuse_other = [&](mode_t mode) {
    if (S_ISREG(mode)) return;
    if (S_ISDIR(mode)) fail("{}: is a directory, a file was expected", path.string());
    fail("{}: is {}, a regular file was expected", path.string(), describe_mode(mode));
  };
  const auto give_up = [&](const char* what) {
    const auto reason = fmt::format("{}: cannot {}: {}", path.string(), what, std::strerror(errno));
    if (is_absence(errno)) throw Error(reason);
    throw ReadError(reason);
  };
  const auto refuse_larger = [&](uint64_t bytes) {
    if (bytes <= most_bytes) return;
    fail("{}: has more than {} bytes, too many for this kind of file", path.string(), most_bytes);
  };
  // Opening a device may have side effects, and opening a FIFO may block forever.
  if (const auto status = status_of(path)) {
    refuse_other(status->st_mode);
  } else if (is_link(path)) {
    fail("{}: cannot open: it is {}", path.string(), what_is_at(path));
  }
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) give_up("open");
  struct stat status;
  if (::fstat(file.get(), &status) != 0) give_up("read");
  refuse_other(status.st_mode);
  refuse_larger(static_cast<uint64_t>(status.st_size));
  std::string bytes;
  try {
    bytes.resize(static_cast<size_t>(status.st_size));
  } catch (const std::exception&) {
    throw ReadError(
        fmt::format("{}: its {} bytes do not fit in memory", path.string(), status.st_size));
  }
  // Reads up to `most` bytes; returns 0 at the end.
  const auto read_some = [&](char* to, size_t most) {
    for (;;) {
      const ssize_t count = ::read(file.get(), to, most);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) give_up("read");
    }
  };
  size_t size = 0;
  while (size < bytes.size()) {
    const size_t count = read_some(bytes.data() + size, bytes.size() - size);
    if (count == 0) break;
    size += count;
  }
  bytes.resize(size);
  char buffer[1 << 16];
  while (const size_t count = read_some(buffer, sizeof buffer)) {
    bytes.append(buffer, count);
    refuse_larger(bytes.size());  // the file may have grown, or may report no size
  }
  return bytes;
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

bool write_new_file(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  return file.commit_new();
}

void flush_file(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 || (::fsync(file.get()) != 0 && errno != EINVAL)) {
    fail("{}: cannot flush to disk: {}", path.string(), std::strerror(errno));
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  if (const auto status = status_of(path_); status && !S_ISREG(status->st_mode)) {
    fail("{}: is {}; a file cannot replace it", path_.string(), describe_mode(status->st_mode));
  }
  if (path_.native().ends_with('/')) fail("{}: names a folder, not a file", path_.string());
  target_ = follow_links(path_);
  create_parents(target_);
  remove_leftovers_of(target_);
  fd_ = create_temporary(target_, temporary_);
  if (fd_ < 0) fail("{}: cannot create: {}", path_.string(), std::strerror(errno));
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::write(std::string_view bytes) {
  if (!write_all(fd_, bytes)) give_up("write");
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) give_up("flush to disk");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) give_up("rename into place");
  temporary_.clear();
  flush_name();
}

bool AtomicFile::commit_new() {
  if (::fsync(fd_) != 0) give_up("flush to disk");
  if (!rename_new(temporary_.c_str(), target_.c_str())) {
    if (errno != EEXIST) give_up("rename into place");
    discard();
    return false;
  }
  temporary_.clear();
  flush_name();
  return true;
}

void AtomicFile::flush_name() {
  if (!flush_folder(target_.parent_path())) {
    fail("{}: is written, but its folder cannot be flushed to disk: {}", path_.string(),
         std::strerror(errno));
  }
}

void AtomicFile::give_up(const char* what) {
  const int cause = errno;
  discard();
  fail("{}: cannot {}: {}", path_.string(), what, std::strerror(cause));
}

void AtomicFile::discard() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void write_output(const fs::path& path, std::string_view bytes) {
  const auto status = status_of(path);
  const auto give_up = [&] { fail("{}: cannot write: {}", path.string(), std::strerror(errno)); };
  if (std::FILE* stream = status ? standard_stream(*status) : nullptr) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stream) != bytes.size() ||
        std::fflush(stream) != 0) {
      give_up();
    }
    return;
  }
  if (!status || (!S_ISCHR(status->st_mode) && !S_ISFIFO(status->st_mode))) {
    return write_file_atomically(path, bytes);
  }
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 || !write_all(file.get(), bytes)) give_up();
}

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/')) continue;
    const std::string program = folder + '/' + name;
    std::error_code error;
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return "";
}

}  // namespace strata

#include "harness/host/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/files/files.h"
#include "base/text/counts.h"

namespace strata::harness {
namespace {

// Returns 0, or an error number.
int drop_whole_cache() {
  const int fd = ::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ::sync();  // pages not yet written cannot be dropped
  const int error = ::write(fd, "3\n", 2) == 2 ? 0 : errno;
  ::close(fd);
  return error;
}

int drop_file(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  ::fdatasync(fd);  // pages not yet written cannot be dropped
  const int error = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  return error;
}

// Returns the files in a directory, or else the path itself.
std::vector<std::filesystem::path> files_at(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::filesystem::path> files = list_directory(path, error);
  std::erase_if(files, [&](const std::filesystem::path& file) {
    return !std::filesystem::is_regular_file(file, error);
  });
  return files;
}

}  // namespace

CacheClearing clear_page_cache(std::span<const std::filesystem::path> files, bool whole) {
  if (whole) {
    const int error = drop_whole_cache();
    if (error == 0) return {true, "the whole page cache"};
    return {
        false,
        fmt::format(
            "/proc/sys/vm/drop_caches: {}; only root may clear the whole page cache; set "
            "initialization.clear_whole_cache to false to clear only the files that the run reads",
            std::strerror(error))};
  }
  int dropped = 0;
  for (const auto& path : files) {
    for (const auto& file : files_at(path)) {
      const int error = drop_file(file);
      if (error != 0) return {false, fmt::format("{}: {}", file.string(), std::strerror(error))};
      ++dropped;
    }
  }
  if (dropped == 0) return {false, "there is no data file"};
  return {true, fmt::format("{} from the page cache", counted(dropped, "data file"))};
}

}  // namespace strata::harness

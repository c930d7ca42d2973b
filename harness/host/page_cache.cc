#include "harness/host/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace strata::harness {
namespace {

bool drop_whole_cache() {
  ::sync();
  const int fd = ::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool dropped = ::write(fd, "3\n", 2) == 2;
  ::close(fd);
  return dropped;
}

bool drop_file(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ::fdatasync(fd);  // pages not yet written cannot be dropped
  const bool dropped = ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
  ::close(fd);
  return dropped;
}

int drop_files(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return drop_file(path) ? 1 : 0;
  int dropped = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.is_regular_file(error) && drop_file(entry.path())) ++dropped;
  }
  return dropped;
}

}  // namespace

std::string clear_page_cache(std::span<const std::filesystem::path> files, bool whole) {
  if (whole && drop_whole_cache()) return "the whole page cache";
  int dropped = 0;
  for (const auto& file : files) dropped += drop_files(file);
  return fmt::format("{} data files", dropped);
}

}  // namespace strata::harness

#include "drawing/memory_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/files/files.h"
#include "base/files/write_all.h"

namespace strata::drawing {

MemoryFile::MemoryFile(std::string holds)
    : holds_(std::move(holds)), descriptor_(::memfd_create(holds_.c_str(), MFD_CLOEXEC)) {
  if (descriptor_ < 0) give_up();
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

std::string MemoryFile::path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

void MemoryFile::fill(std::string_view text) {
  if (!write_all(descriptor_, text)) give_up();
  ::lseek(descriptor_, 0, SEEK_SET);
}

std::string MemoryFile::contents() const {
  try {
    return read_file(path());
  } catch (const Error& error) {
    fail("cannot read {} from memory: {}", holds_, error.what());
  }
}

void MemoryFile::give_up() const { fail("no memory for {}: {}", holds_, std::strerror(errno)); }

}  // namespace strata::drawing

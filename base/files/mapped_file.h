// A file's bytes in memory, read only where they are looked at.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace strata {

class MappedFile {
 public:
  // Throws Error where `path` is not a regular file that can be read. Nothing of it is read yet. A
  // file that is cut short while it is mapped ends the process when what is missing is looked at.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // From now on bytes are looked at here and there: nothing is read ahead.
  void expect_random_access() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace strata

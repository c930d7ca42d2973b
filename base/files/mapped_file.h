// A file mapped into memory, read only where it is accessed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace strata {

class MappedFile {
 public:
  // Throws Error if `path` is not a readable regular file. Reads nothing yet. If the file is
  // truncated while it is mapped, accessing the missing part ends the process.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  // Disables read-ahead, for accesses at random positions.
  void expect_random_access() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace strata

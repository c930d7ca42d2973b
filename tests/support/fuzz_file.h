// Stores the input of a reader's fuzz target as a file, in memory if the system supports it.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace strata::fuzz {

class FuzzFile {
 public:
  explicit FuzzFile(const std::string& ending) {
    const std::filesystem::path memory = "/dev/shm";
    const bool has_memory = std::filesystem::is_directory(memory);
    std::string name = (has_memory ? memory : std::filesystem::temp_directory_path()) /
                       ("strata-fuzz.XXXXXX" + ending);
    ::close(::mkstemps(name.data(), static_cast<int>(ending.size())));
    path_ = name;
  }
  ~FuzzFile() { std::filesystem::remove(path_); }
  FuzzFile(const FuzzFile&) = delete;
  FuzzFile& operator=(const FuzzFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(std::string_view bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

 private:
  std::filesystem::path path_;
};

}  // namespace strata::fuzz

// A folder that exists as long as an object.
#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace strata {

class TemporaryFolder {
 public:
  // Makes a new folder in `parent`. Its name is `prefix` and characters that no other process has
  // taken. Sets `error` if that fails.
  TemporaryFolder(const std::filesystem::path& parent, std::string_view prefix,
                  std::error_code& error) {
    std::string name = (parent / (std::string(prefix) + "XXXXXX")).string();
    if (::mkdtemp(name.data())) {
      path_ = name;
    } else {
      error.assign(errno, std::generic_category());
    }
  }
  // Removes the folder with its contents.
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }  // empty if the folder was not made

 private:
  std::filesystem::path path_;
};

}  // namespace strata

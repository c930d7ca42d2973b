// Checks messages of errors.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "base/error.h"
#include "tests/support/matchers.h"

namespace strata::bert {

// Expects `action` to throw an Error whose message contains all `parts`.
inline void expect_error(const std::function<void()>& action,
                         const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    for (const std::string& part : parts) {
      EXPECT_THAT(std::string(error.what()), HasSubstr(part))
          << "'" << part << "' is not in: " << error.what();
    }
  }
}

// A file that this object's destructor removes.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& ending)
      : path_(std::filesystem::path(testing::TempDir()) /
              ("strata-bert." + std::to_string(::getpid()) + ending)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string name() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace strata::bert

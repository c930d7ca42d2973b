// The one exception type of the project: a message a user can act on.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace strata {

// Thrown for anything a user can cause or fix. The message names the file, the key or offset, the
// value found and what to do about it. Caught once, in cli/, which prints it and exits with 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file that is there and that the system does not hand over (no descriptor, a failing disk, no
// permission), or that there is no memory for: of what it holds nothing is known.
class ReadError : public Error {
 public:
  using Error::Error;
};

// What to tell a user of any exception.
inline std::string message_of(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error)) return error.what();
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error)) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error)) {
    return "out of memory: a smaller batch.micro_batch, fewer threads or fewer ranks take less";
  }
  return fmt::format("unexpected: {}", error.what());
}

// To the standard error, for people; where it takes no more, work goes on without.
template <typename... Args>
void print_to_stderr(fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Throws Error with a fmt-formatted message.
template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace strata

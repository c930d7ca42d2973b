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
// value found and what to do about it. Only cli/ catches it; it prints the message and exits with
// 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An existing file that cannot be read (no descriptor, a failing disk, no permission), or is too
// large for memory. Its contents are unknown.
class ReadError : public Error {
 public:
  using Error::Error;
};

// Returns the message of any exception, for users.
inline std::string message_of(const std::exception& error) {
  if (dynamic_cast<const Error*>(&error)) return error.what();
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error)) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error)) {
    return "out of memory; use a smaller batch.micro_batch, fewer threads or fewer ranks";
  }
  return fmt::format("unexpected error: {}", error.what());
}

// Prints to standard error for users. Ignores errors, because work continues without the message.
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

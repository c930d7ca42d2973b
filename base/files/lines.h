// Opens files and reads lines without taking a lack of memory for the end of a file.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <istream>
#include <new>
#include <string>
#include <string_view>

#include "base/text/printable.h"  // one_line()

namespace strata {

// Reads a line as std::getline() does, but throws std::bad_alloc if memory is short; std::getline()
// would report the end of the text. A read error also ends the text.
inline bool read_line(std::istream& text, std::string& line) {
  try {
    text.exceptions(std::ios::badbit);  // makes the stream rethrow exceptions
    return static_cast<bool>(std::getline(text, line));
  } catch (const std::ios_base::failure&) {
    return false;
  }
}

// Opens a file as a stream's constructor does, but throws std::bad_alloc if memory is short. A
// stream would report a missing file.
inline std::ifstream open_to_read(const std::filesystem::path& path,
                                  std::ios::openmode mode = std::ios::in) {
  errno = 0;
  std::ifstream file(path, mode);
  if (!file.is_open() && errno == ENOMEM) throw std::bad_alloc();
  return file;
}

// Returns the first line of a file, or an empty string if it cannot be opened.
inline std::string first_line(const std::string& path) {
  std::ifstream file = open_to_read(path);
  std::string line;
  read_line(file, line);
  return line;
}

}  // namespace strata

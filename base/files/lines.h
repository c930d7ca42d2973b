// Texts read line by line, and files opened for it; what gets no memory is not taken for the end.
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

// Reads a line as std::getline() does, but throws std::bad_alloc where there is no memory for it:
// std::getline() then says that the text has ended. Where a file cannot be read on, the text ends.
inline bool read_line(std::istream& text, std::string& line) {
  try {
    text.exceptions(std::ios::badbit);  // what is thrown within a stream passes on
    return static_cast<bool>(std::getline(text, line));
  } catch (const std::ios_base::failure&) {
    return false;
  }
}

// A file to read, open or not, as a stream's constructor leaves it; but throws std::bad_alloc where
// there is no memory for it, which such a stream does not tell from a file that is not there.
inline std::ifstream open_to_read(const std::filesystem::path& path,
                                  std::ios::openmode mode = std::ios::in) {
  errno = 0;
  std::ifstream file(path, mode);
  if (!file.is_open() && errno == ENOMEM) throw std::bad_alloc();
  return file;
}

// Of a file; empty where it cannot be opened.
inline std::string first_line(const std::string& path) {
  std::ifstream file = open_to_read(path);
  std::string line;
  read_line(file, line);
  return line;
}

}  // namespace strata

// Lines of a text, one after the other.
#pragma once

#include <fstream>
#include <istream>
#include <string>

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

// Of a file; empty where it cannot be opened.
inline std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  read_line(file, line);
  return line;
}

}  // namespace strata

// Files built into the program by cmake/EmbedFiles.cmake.
#pragma once

#include <string_view>

namespace strata {

struct EmbeddedFile {
  std::string_view name;  // relative path
  std::string_view text;
  std::string_view sha256;  // of the text, 64 hexadecimal digits
};

}  // namespace strata

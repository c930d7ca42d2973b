// What a command reads is not to be replaced by what it writes.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"

namespace strata::cli {

// Throws Error where `output` is the file `read`, by whatever name; `option` names the output,
// `what` what was read.
inline void refuse_to_replace(const std::filesystem::path& read, const std::string& output,
                              const char* what, const char* option = "--output") {
  std::error_code ignored;
  if (std::filesystem::equivalent(read, output, ignored)) {
    fail("{} {}: is the {} itself; name another file", option, output, what);
  }
}

}  // namespace strata::cli

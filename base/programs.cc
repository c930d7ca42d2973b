#include "base/programs.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace strata {

std::string find_program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.starts_with('/')) continue;
    const std::string program = folder + '/' + name;
    std::error_code error;
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) {
      return program;
    }
  }
  return "";
}

}  // namespace strata

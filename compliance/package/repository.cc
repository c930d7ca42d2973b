#include "compliance/package/repository.h"

#include <algorithm>

#include "base/error.h"

namespace strata::compliance {

namespace fs = std::filesystem;

Section check_repository(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) fail("{}: is not a directory", directory.string());
  Section section{"Repository " + directory.string(), {}, {}, {}};
  fs::recursive_directory_iterator it(directory, fs::directory_options::skip_permission_denied,
                                      error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    const std::string name = path.filename().string();
    std::error_code ignored;
    if (name.find(' ') != name.npos)
      section.errors.push_back(fmt::format("{}: the name holds a space", path.string()));
    if (name.starts_with('.'))
      section.errors.push_back(fmt::format("{}: the name starts with a dot", path.string()));
    if (it->is_symlink(ignored)) {
      if (!fs::exists(path, ignored))
        section.errors.push_back(fmt::format("{}: the link leads nowhere", path.string()));
    } else if (it->is_regular_file(ignored) && it->file_size(ignored) > kMaxRepositoryFileBytes) {
      section.errors.push_back(
          fmt::format("{}: {:.1f} MiB, at most 50 are allowed", path.string(),
                      static_cast<double>(it->file_size(ignored)) / (1 << 20)));
    }
  }
  if (error)
    section.warnings.push_back(
        fmt::format("{}: not all of it could be read: {}", directory.string(), error.message()));
  std::sort(section.errors.begin(), section.errors.end());
  return section;
}

}  // namespace strata::compliance

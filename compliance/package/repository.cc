#include "compliance/package/repository.h"

#include <algorithm>

#include "base/error.h"
#include "base/files/files.h"
#include "base/text/counts.h"
#include "compliance/package/submission_tree.h"

namespace strata::compliance {

namespace fs = std::filesystem;

Section check_repository(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error)) {
    fail("{}: is {}, a folder was expected", directory.string(), what_is_at(directory));
  }
  Section section{"Repository " + directory.string(), {}, {}, {}};
  section.judged = false;
  walk(
      directory,
      [&](const fs::directory_entry& entry) {
        const fs::path& path = entry.path();
        section.judged = true;
        const std::string name = path.filename().string();
        std::error_code ignored;
        if (name.find(' ') != name.npos)
          section.errors.push_back(fmt::format("{}: the name contains a space", path.string()));
        if (name.starts_with('.'))
          section.errors.push_back(fmt::format("{}: the name starts with a dot", path.string()));
        if (entry.is_symlink(ignored)) {
          if (!fs::exists(path, ignored))
            section.errors.push_back(
                fmt::format("{}: the link's target does not exist", path.string()));
        } else if (entry.is_regular_file(ignored) &&
                   entry.file_size(ignored) > kMaxRepositoryFileBytes) {
          section.errors.push_back(fmt::format("{}: has {} bytes; at most {} (50 MiB) are allowed",
                                               path.string(), count_text(entry.file_size(ignored)),
                                               count_text(kMaxRepositoryFileBytes)));
        } else if (!entry.is_regular_file(ignored) && !entry.is_directory(ignored)) {
          section.errors.push_back(
              fmt::format("{}: is {}, which git cannot store", path.string(), what_is_at(path)));
        }
      },
      section.errors);
  std::sort(section.errors.begin(), section.errors.end());
  if (!section.judged) section.notes.push_back("the folder is empty");
  return section;
}

}  // namespace strata::compliance

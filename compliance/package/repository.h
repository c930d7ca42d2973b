// Checks that a submission fits into a git repository: file names, sizes, links.
#pragma once

#include <filesystem>

#include "compliance/package/section.h"

namespace strata::compliance {

inline constexpr uintmax_t kMaxRepositoryFileBytes = uintmax_t{50} << 20;

// Names may hold no space and not start with a dot, files may have at most 50 MiB, links must have
// a target, and every folder must be listable. The folder's own name is not judged. Throws Error if
// it is not a directory.
Section check_repository(const std::filesystem::path& directory);

}  // namespace strata::compliance

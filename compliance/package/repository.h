// Whether a submission can be put into a git repository: file names, sizes, links.
#pragma once

#include <filesystem>

#include "compliance/package/section.h"

namespace strata::compliance {

inline constexpr uintmax_t kMaxRepositoryFileBytes = uintmax_t{50} << 20;

// Names may hold no space and not start with a dot, files may have at most 50 MiB, links must lead
// somewhere, and every folder must be one that can be listed. The folder's own name is not judged.
// Throws Error where it is not a directory.
Section check_repository(const std::filesystem::path& directory);

}  // namespace strata::compliance

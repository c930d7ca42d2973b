// The first step of the check of a submission: its systems and result folders, before logs are
// read.
#pragma once

#include <filesystem>

#include "compliance/package/package.h"

namespace strata::compliance {

// The package in `directory`, whose folders have no logs judged yet. Throws Error if it lacks
// results/ or systems/.
PackageVerdict list_package(const std::filesystem::path& directory, const PackageOptions& options);

}  // namespace strata::compliance

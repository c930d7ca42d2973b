// Detects changes of files and folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::report {

// Returns letters and digits that change if one of the `paths`, or a file below it, appears,
// disappears, or changes its size or time. A path that cannot be read counts as missing.
std::string state_of(const std::vector<std::filesystem::path>& paths);

}  // namespace strata::report

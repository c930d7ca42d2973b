// Whether some files, or anything below some folders, have changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::report {

// Letters and digits that differ whenever one of the `paths`, or a file below it, has come, gone,
// or has another size or time. What cannot be looked at counts as not there.
std::string state_of(const std::vector<std::filesystem::path>& paths);

}  // namespace strata::report

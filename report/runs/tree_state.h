// Whether anything below some folders has changed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace strata::report {

// Letters and digits that differ whenever a file below one of the `paths` has come, gone, or has
// another size or time. What cannot be looked at counts as not there.
std::string state_of(const std::vector<std::filesystem::path>& paths);

}  // namespace strata::report

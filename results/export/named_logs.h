// The logs that an export is of.
#pragma once

#include <filesystem>
#include <map>
#include <span>

#include "compliance/package/submission_tree.h"

namespace strata::results {

// Logs by name: of a log in a directory that is given the directory's name and the path from there
// on, of a log that is given its own name; without ".txt". What cannot be read is added to
// `problems`. Throws Error where two logs would have one name.
std::map<std::filesystem::path, std::filesystem::path> named_logs(
    std::span<const std::filesystem::path> paths, compliance::ListingProblems& problems);

}  // namespace strata::results

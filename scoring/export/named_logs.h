// Names the logs of an export.
#pragma once

#include <filesystem>
#include <map>
#include <span>

#include "compliance/package/submission_tree.h"

namespace strata::scoring {

// Returns logs by name, without ".txt". A log in a given directory gets the directory's name and
// the path below it; a given log keeps its own name. Adds what cannot be read to `problems`. Throws
// Error if two logs would have one name.
std::map<std::filesystem::path, std::filesystem::path> named_logs(
    std::span<const std::filesystem::path> paths, compliance::ListingProblems& problems);

}  // namespace strata::scoring

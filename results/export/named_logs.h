// The logs that an export is of.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "compliance/package/submission_tree.h"

namespace strata::results {

// Logs by name: of a log in a directory that is given the directory's name and the path from there
// on, of a log that is given its own name; without ".txt". What cannot be read is added to
// `problems`. Throws Error where two logs would have one name.
std::map<std::filesystem::path, std::filesystem::path> named_logs(
    std::span<const std::filesystem::path> paths, compliance::ListingProblems& problems);

// UTF-8, whatever the log holds.
std::string utf8(std::string_view text);

}  // namespace strata::results

// Names that tell systems apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compliance/package/submission_tree.h"

namespace strata::results {

// For each result folder: the parent of its submitter's folder if another system has the same
// submitter and name, else empty.
std::vector<std::string> distinguishing_places(
    std::span<const compliance::ResultFolder* const> folders);

// "Acme big", or "Acme big in /home/me/old" if there is a place; a path for a folder that lies in
// no submission.
std::string name_with_place(const compliance::ResultFolder& folder, const std::string& place);

}  // namespace strata::results

// Names that tell systems apart.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compliance/package/submission_tree.h"

namespace strata::scoring {

// Returns, for each result folder, the parent of its submitter's folder if another system has the
// same submitter and name, else an empty text.
std::vector<std::string> distinguishing_places(
    std::span<const compliance::ResultFolder* const> folders);

// Returns "Acme big", or "Acme big in /home/me/old" if there is a place, or the path of a folder in
// no submission.
std::string name_with_place(const compliance::ResultFolder& folder, const std::string& place);

}  // namespace strata::scoring

// The last step of the check of submissions: findings about all their folders together.
#pragma once

#include <map>
#include <vector>

#include "compliance/package/steps/judging.h"

namespace strata::compliance {

// Adds the section "Review" to every folder with logs, and to a package whose logs lack its names.
void review_packages(std::vector<PackageVerdict>& packages,
                     const std::map<const FolderVerdict*, FolderFacts>& judged,
                     const PackageOptions& options);

}  // namespace strata::compliance

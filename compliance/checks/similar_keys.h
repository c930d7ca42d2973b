// Hints for keys that are missing or logged too often.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/check_log.h"

namespace strata::compliance {

// The key that may have been meant for `wanted`: of the same letters, with a part between
// underscores more or less ("opt_epsilon" for "opt_lamb_epsilon"), in another order, or two letters
// off. Empty where there is none.
std::string_view similar_key(std::string_view wanted, const std::vector<std::string>& keys);

// Merges the findings of three or more keys that are logged equally often instead of once into one:
// logs of several processes hold every event several times.
std::vector<Finding> merge_repeats(const std::vector<Finding>& findings);

}  // namespace strata::compliance

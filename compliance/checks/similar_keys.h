// Hints for keys that are missing or logged too often.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compliance/checks/check_log.h"

namespace strata::compliance {

// Returns the key that was probably meant for `wanted`, or an empty text. It has the same letters,
// one part between underscores more or less ("opt_epsilon" for "opt_lamb_epsilon"), another order,
// or two different letters.
std::string_view similar_key(std::string_view wanted, const std::vector<std::string>& keys);

// Merges findings if three or more keys are logged equally often instead of once: logs of several
// processes hold every event several times.
std::vector<Finding> merge_repeats(const std::vector<Finding>& findings);

}  // namespace strata::compliance

// Whether two data sets are the same, whatever their forms.
#pragma once

#include <optional>
#include <string>

#include "data/files/instance_file.h"

namespace strata::data {

// Where the samples of `a` and `b`, taken in order, first differ, as a sentence; none where all are
// equal in tokens, segments, masked positions and their tokens, and labels. Throws Error for a
// malformed sample.
std::optional<std::string> first_difference(const InstanceSource& a, const InstanceSource& b);

}  // namespace strata::data

// What could not be read at all.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {

// Throws Error if there is some, a line each: what lies in it was passed over. To be called once
// the rest is printed.
inline void refuse(const compliance::ListingProblems& problems) {
  if (!problems.empty()) fail("{}", fmt::join(problems, "\nstrata: "));
}

}  // namespace strata::cli

// Reports what could not be read.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {

// Throws Error with the first problem and the number of the others if there are any, because their
// contents were skipped. Call after printing the rest.
inline void refuse(const compliance::ListingProblems& problems) {
  if (problems.empty()) return;
  const size_t others = problems.size() - 1;
  fail("{}{}", one_line(problems.front()),
       others > 0 ? fmt::format(" (and {} more)", counted(others, "problem")) : "");
}

}  // namespace strata::cli

// Reports what could not be read.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/printable.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {

// Throws Error with one line per problem if there are any, because their contents were skipped.
// Call after printing the rest.
inline void refuse(const compliance::ListingProblems& problems) {
  if (problems.empty()) return;
  std::vector<std::string> lines;
  for (const std::string& problem : problems) lines.push_back(one_line(problem));
  fail("{}", fmt::join(lines, "\nstrata: "));
}

}  // namespace strata::cli

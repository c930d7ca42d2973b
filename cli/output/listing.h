// What could not be read at all.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/printable.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {

// Throws Error if there is some, a line each: what lies in it was passed over. To be called once
// the rest is printed.
inline void refuse(const compliance::ListingProblems& problems) {
  if (problems.empty()) return;
  std::vector<std::string> lines;
  for (const std::string& problem : problems) lines.push_back(one_line(problem));
  fail("{}", fmt::join(lines, "\nstrata: "));
}

}  // namespace strata::cli

// Reports what could not be read.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text/counts.h"
#include "base/text/printable.h"
#include "compliance/package/submission_tree.h"

namespace strata::cli {

// Throws Error if contents were skipped: with a line for each of a few problems, or with the first
// of many and the number of the others. Call after printing the rest.
inline void refuse(const compliance::ListingProblems& problems) {
  constexpr size_t kFew = 4;
  if (problems.empty()) return;
  if (problems.size() > kFew) fail("{}", one_line(first_and_count(problems, "problem")));
  std::vector<std::string> lines;
  for (const std::string& problem : problems) lines.push_back(one_line(problem));
  fail("{}", fmt::join(lines, "\nstrata: "));
}

}  // namespace strata::cli

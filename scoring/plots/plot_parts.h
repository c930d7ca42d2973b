// Text helpers for pictures of runs and of scores.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "drawing/text.h"

namespace strata::scoring {

// Returns "64 A100" for 64 of "NVIDIA A100-SXM4-80GB (400W)", or an empty text if there are
// none or the model is unknown.
std::string accelerators_in_short(std::optional<int64_t> count, const std::string& model);

// Returns "v2.1" for "2.1.0", and an empty text for none.
std::string round_in_short(const std::string& round);

// Returns the only benchmark of all `items`.
template <typename Items, typename BenchmarkOf>
std::string only_benchmark(const Items& items, const BenchmarkOf& name_of) {
  std::set<std::string> names;
  for (const auto& item : items) names.insert(drawing::shortened(name_of(item), 40));
  if (names.size() > 1) {
    const bool unnamed = names.erase("") > 0;
    fail("runs of several benchmarks ({}{}): a plot shows one; choose it with --benchmark",
         fmt::join(names, ", "), unnamed ? ", some unnamed" : "");
  }
  return *names.begin();
}

}  // namespace strata::scoring

// Comparisons as text: tables for people, Markdown for reports, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"

namespace strata::compare {

// One table per comparison, then where the difference comes from, in words, and its notes.
std::string comparison_text(const std::vector<Comparison>& comparisons);
std::string comparison_markdown(const std::vector<Comparison>& comparisons);
// A header line, then one line per quantity. Differences as shares.
std::string comparison_csv(const std::vector<Comparison>& comparisons);
// docs/schemas/compare.json.
std::string comparison_json(const std::vector<Comparison>& comparisons);

}  // namespace strata::compare

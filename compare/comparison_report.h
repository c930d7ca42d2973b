// Comparisons as text: tables for people, Markdown for reports, CSV and JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"

namespace strata::compare {

// Return one table per comparison, then the sources of the difference in words, and the notes.
std::string comparison_text(const std::vector<Comparison>& comparisons);
std::string comparison_markdown(const std::vector<Comparison>& comparisons);
// Returns a header line, then one line per quantity. Differences are shares.
std::string comparison_csv(const std::vector<Comparison>& comparisons);
// Returns docs/schemas/compare.json.
std::string comparison_json(const std::vector<Comparison>& comparisons);

}  // namespace strata::compare

// Rows of cells as text: aligned for people, and as CSV.
#pragma once

#include <string>
#include <vector>

namespace strata::results {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between.
std::string align(const std::vector<Row>& rows);
// A line of comma-separated values (RFC 4180), without its carriage return.
std::string csv_line(const Row& cells);

}  // namespace strata::results

// Rows of cells as text: aligned for people, and as CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace strata::scoring {

using Row = std::vector<std::string>;

// Makes columns as wide as their widest cell, with two spaces between. A cell's text stays on its
// line and cannot steer a terminal.
std::string align(const std::vector<Row>& rows);
// Formats by a pattern such as "{:.1f}", or "-" for nothing.
std::string number_cell(std::optional<double> value, const char* pattern);

// Returns a line of comma-separated values (RFC 4180), without its carriage return. A cell that
// spreadsheets would take for a formula (=, +, -, @, tab, or one of these in full width) gets an
// apostrophe in front; numbers do not.
std::string csv_line(const Row& cells);
// The same for the round's official table, which must keep its values: quotes such cells instead.
std::string official_csv_line(const Row& cells);
// Returns all digits, or an empty text for nothing.
std::string csv_number(std::optional<double> value);

}  // namespace strata::scoring

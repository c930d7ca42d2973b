// Rows of cells as text: aligned for people, and as CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace strata::results {

using Row = std::vector<std::string>;

// Columns as wide as their widest cell, two spaces between. What a cell holds stays in its line,
// and cannot steer a terminal.
std::string align(const std::vector<Row>& rows);
// By a format such as "{:.1f}"; "-" where there is none.
std::string number_cell(std::optional<double> value, const char* pattern);

// A line of comma-separated values (RFC 4180), without its carriage return. A cell that
// spreadsheets would take for a formula (=, +, -, @, tab, or one of these in full width) begins
// with an apostrophe; numbers do not.
std::string csv_line(const Row& cells);
// The same for the round's official table, whose values must stay: such cells are in quotes.
std::string official_csv_line(const Row& cells);
// All digits; empty where there is none.
std::string csv_number(std::optional<double> value);

}  // namespace strata::results

// The data behind a table or a picture, for a spreadsheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strata::report {

// A table of data behind a picture.
struct Data {
  std::string name;  // file name without its extension
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// Returns RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe in front.
std::string csv(const Data& data);
// Returns a link that saves the data without a network: "<a download=... href=data:...>".
std::string data_link(const Data& data);

std::string base64(std::string_view bytes);

}  // namespace strata::report

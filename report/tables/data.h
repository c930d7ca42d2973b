// The data behind a table or a picture, for a spreadsheet.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strata::report {

// A table of data behind a picture.
struct Data {
  std::string name;  // of the file, without its ending
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// As RFC 4180 has it. A cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string csv(const Data& data);
// A link that saves the data, without a network: "<a download=... href=data:...>".
std::string data_link(const Data& data);

std::string base64(std::string_view bytes);

}  // namespace strata::report

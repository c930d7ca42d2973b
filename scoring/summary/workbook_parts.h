// Checks the files in a workbook's archive.
#pragma once

#include <string_view>

namespace strata::scoring {

// Returns whether each of them ends like XML, with the end of its first element.
bool has_whole_parts(std::string_view archive);

}  // namespace strata::scoring

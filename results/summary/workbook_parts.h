// The files that a workbook is an archive of.
#pragma once

#include <string_view>

namespace strata::results {

// Whether each of them ends as XML does, with the end of the element that it begins with.
bool has_whole_parts(std::string_view archive);

}  // namespace strata::results

#include "base/error.h"
#include "scoring/summary/workbook.h"

namespace strata::scoring {

std::string workbook_library() { return ""; }

std::string workbook(const std::vector<Sheet>&) { fail("built without libxlsxwriter"); }

}  // namespace strata::scoring

#include "base/error.h"
#include "results/summary/workbook.h"

namespace strata::results {

std::string workbook_library() { return ""; }

std::string workbook(const std::vector<Sheet>&) { fail("built without libxlsxwriter"); }

}  // namespace strata::results

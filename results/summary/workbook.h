// Workbooks (.xlsx) for spreadsheet programs, by libxlsxwriter. Programs built without it write
// none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace strata::results {

using SheetCell = std::variant<std::monostate, std::string, int64_t, double>;

struct Sheet {
  std::string name;  // of at most 31 characters, without any of []:*?/ and the backslash
  std::vector<std::string> columns;
  std::vector<std::vector<SheetCell>> rows;
};

// The library's version; empty where the program was built without it.
std::string workbook_library();

// The file's bytes, the same for the same sheets: a header that stays in view with a filter on
// every column, then a line a row. Text is text whatever it begins with, numbers are numbers (to 16
// digits) but for those that a spreadsheet has not: counts beyond 2^53, infinities and NaN are
// text. Throws Error for a text of more than 32,767 characters, where the library or its temporary
// files fail, and in a program without the library.
std::string workbook(const std::vector<Sheet>& sheets);

// `text` as the format's strings hold it (ECMA-376, ST_Xstring): bytes that are no UTF-8 become
// U+FFFD, characters that XML has not become _xHHHH_, and a text that reads so is escaped itself.
std::string workbook_text(std::string_view text);

}  // namespace strata::results

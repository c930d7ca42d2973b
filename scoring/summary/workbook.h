// Workbooks (.xlsx) for spreadsheet programs, written with libxlsxwriter if the program was built
// with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace strata::scoring {

using SheetCell = std::variant<std::monostate, std::string, int64_t, double>;

struct Sheet {
  std::string name;  // at most 31 characters, without any of []:*?/ and the backslash
  std::vector<std::string> columns;
  std::vector<std::vector<SheetCell>> rows;
};

// Returns the library's version, or an empty text if the program was built without it.
std::string workbook_library();

// Returns the file's bytes, the same for the same sheets: a header that stays in view with a filter
// on every column, then one line per row. Text stays text, whatever it begins with. Numbers are
// numbers (to 16 digits), except counts beyond 2^53, infinities and NaN, which are text. Throws
// Error if a text has more than 32,767 characters, if the library or its temporary files fail, and
// in a program without the library.
std::string workbook(const std::vector<Sheet>& sheets);

// Returns `text` as the format's strings hold it (ECMA-376, ST_Xstring): bytes that are not UTF-8
// become U+FFFD, characters that XML lacks become _xHHHH_, and a text that looks so is escaped
// itself.
std::string workbook_text(std::string_view text);

}  // namespace strata::scoring

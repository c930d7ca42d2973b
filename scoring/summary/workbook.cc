#include "scoring/summary/workbook.h"

#include <xlsxwriter.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "compliance/package/scaling.h"
#include "drawing/memory_file.h"
#include "scoring/summary/workbook_parts.h"

namespace strata::scoring {
namespace {

void require(lxw_error error, const std::string& what) {
  if (error != LXW_NO_ERROR)
    fail("{} cannot be written to a workbook: {}", what, lxw_strerror(error));
}

struct FreeWorkbook {
  void operator()(lxw_workbook* workbook) const { lxw_workbook_free(workbook); }
};

// Returns the number that a spreadsheet can store for a cell.
std::optional<double> number_in(const SheetCell& cell) {
  constexpr int64_t kExact = int64_t{1} << 53;
  if (const auto* count = std::get_if<int64_t>(&cell)) {
    if (*count < -kExact || *count > kExact) return std::nullopt;
    return static_cast<double>(*count);
  }
  const auto* number = std::get_if<double>(&cell);
  return number != nullptr && std::isfinite(*number) ? std::optional(*number) : std::nullopt;
}

std::string text_in(const SheetCell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* count = std::get_if<int64_t>(&cell)) return std::to_string(*count);
  if (const auto* number = std::get_if<double>(&cell)) return compliance::python_float(*number);
  return "";
}

class SheetWriter {
 public:
  SheetWriter(lxw_workbook* workbook, const Sheet& sheet)
      : sheet_(sheet), worksheet_(workbook_add_worksheet(workbook, sheet.name.c_str())) {
    header_ = workbook_add_format(workbook);
    if (worksheet_ == nullptr || header_ == nullptr) throw std::bad_alloc();
    format_set_bold(header_);
  }

  void write() {
    const auto last = static_cast<lxw_col_t>(sheet_.columns.size() - 1);
    for (lxw_col_t column = 0; column <= last; ++column) {
      write_text(0, column, sheet_.columns[column], header_);
      lxw_row_t row = 0;
      for (const auto& cells : sheet_.rows) write_cell(++row, column, cells[column]);
      require(worksheet_set_column(worksheet_, column, column, width(column), nullptr),
              sheet_.name);
    }
    worksheet_freeze_panes(worksheet_, 1, 0);
    require(
        worksheet_autofilter(worksheet_, 0, 0, static_cast<lxw_row_t>(sheet_.rows.size()), last),
        sheet_.name);
  }

 private:
  void write_cell(lxw_row_t row, lxw_col_t column, const SheetCell& cell) {
    if (const auto number = number_in(cell)) {
      require(worksheet_write_number(worksheet_, row, column, *number, nullptr),
              place(row, column));
    } else {
      write_text(row, column, text_in(cell), nullptr);
    }
  }

  void write_text(lxw_row_t row, lxw_col_t column, const std::string& text, lxw_format* format) {
    require(worksheet_write_string(worksheet_, row, column, workbook_text(text).c_str(), format),
            place(row, column));
  }

  std::string place(lxw_row_t row, lxw_col_t column) const {
    return fmt::format("line {} of column '{}'", row + 1, sheet_.columns[column]);
  }

  // Returns the width of the longest text, within limits.
  double width(size_t column) const {
    constexpr size_t kLeast = 8, kMost = 40, kFilterButton = 3;
    size_t most = sheet_.columns[column].size() + kFilterButton;
    for (const auto& cells : sheet_.rows) most = std::max(most, text_in(cells[column]).size() + 1);
    return static_cast<double>(std::clamp(most, kLeast, kMost));
  }

  const Sheet& sheet_;
  lxw_worksheet* worksheet_;
  lxw_format* header_;
};

}  // namespace

std::string workbook_library() { return lxw_version(); }

std::string workbook(const std::vector<Sheet>& sheets) {
  const drawing::MemoryFile file("a workbook");
  std::unique_ptr<lxw_workbook, FreeWorkbook> workbook(workbook_new(file.path().c_str()));
  if (!workbook) throw std::bad_alloc();
  // Fixes the creation time, which would otherwise be the time of writing. The archive's times are
  // fixed, too.
  constexpr time_t kBeginningOf1980 = 315'532'800;
  lxw_doc_properties properties{};
  properties.created = kBeginningOf1980;
  require(workbook_set_properties(workbook.get(), &properties), "a time");
  for (const Sheet& sheet : sheets) SheetWriter(workbook.get(), sheet).write();
  require(workbook_close(workbook.release()), "the table");
  std::string bytes = file.contents();
  if (!has_whole_parts(bytes)) {
    const char* folder = std::getenv("TMPDIR");
    fail("libxlsxwriter could not write its temporary files: is {} full?",
         folder ? folder : "/tmp");
  }
  return bytes;
}

}  // namespace strata::scoring

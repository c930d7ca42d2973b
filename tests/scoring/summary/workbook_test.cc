#include "scoring/summary/workbook.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/files/files.h"
#include "scoring/summary/summary.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/oracle.h"

namespace strata::scoring {
namespace {

using ::strata::testing::TemporaryFolder;

#define STRATA_NEEDS_WORKBOOKS() \
  if (workbook_library().empty()) GTEST_SKIP() << "built without libxlsxwriter"

TEST(WorkbookText, EscapesCharactersThatXmlForbids) {
  EXPECT_EQ(workbook_text("a\tb\nc <&\"> \x7f é"), "a\tb\nc <&\"> \x7f é");
  EXPECT_EQ(workbook_text(std::string_view("\x1b[31m\r\0.", 8)), "_x001B_[31m_x000D__x0000_.");
  EXPECT_EQ(workbook_text("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"), "_xFFFE__xFFFF_\xef\xbf\xbd");
  EXPECT_EQ(workbook_text("\xff\xed\xa0\x80 \xc3"),
            "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
}

TEST(WorkbookText, EscapesTextThatLooksLikeAnEscape) {
  EXPECT_EQ(workbook_text("_x0041_"), "_x005F_x0041_");
  EXPECT_EQ(workbook_text("_x_x00e9_x0041_"), "_x_x005F_x00e9_x005F_x0041_");
  for (const char* plain : {"_x004_", "_X0041_", "_x0041", "_x00g1_", "x0041_", "_"})
    EXPECT_EQ(workbook_text(plain), plain);
}

// Compares the workbook, read by another program, with `summary_csv`.
void expect_the_csv(const Summary& summary) {
  const TemporaryFolder folder;
  write_output(folder.path() / "s.xlsx", summary_xlsx(summary, false));
  write_output(folder.path() / "s.csv", summary_csv(summary, false));
  const auto result = testing_support::run_command(
      "/usr/bin/python3 " STRATA_SOURCE_DIR "/tests/support/workbook_against_csv.py " +
      (folder.path() / "s.xlsx").string() + " " + (folder.path() / "s.csv").string());
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST(Workbook, HoldsTheCellsOfTheCsv) {
  STRATA_NEEDS_WORKBOOKS();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Summary summary;
  summary.strong.columns = {"division", "system", "accelerators_count", "bert"};
  summary.weak.columns = {"division", "system", "bert:time_to_train_all"};
  expect_the_csv(summary);  // only headers
  summary.strong.rows = {{"closed", "box", int64_t{8}, 1.0749999999999997},
                         {"closed", "rack", int64_t{0}, {}},
                         {"open", "17", int64_t{-3}, 1e-300},
                         {"open", "", INT64_MAX, kInfinity},
                         {"open", "", (int64_t{1} << 53) + 1, std::nan("")},
                         {"open", "", int64_t{1} << 53, -kInfinity},
                         {"Open", "an unknown division", int64_t{1}, 1e300}};
  expect_the_csv(summary);
  summary.weak.rows = {{"open", "weak", 0.1}};
  expect_the_csv(summary);
  EXPECT_EQ(summary_xlsx(summary, false), summary_xlsx(summary, false));
}

TEST(Workbook, TextIsNeverAFormula) {
  STRATA_NEEDS_WORKBOOKS();
  Summary summary;
  summary.strong.columns = {"division", "notes", "bert"};
  for (const char* text : {"=1+1",
                           "=cmd|' /C calc'!A0",
                           "+1",
                           "-1",
                           "@SUM(A1)",
                           "1e5",
                           "007",
                           "TRUE",
                           "#N/A",
                           " a ",
                           "\t=1",
                           "a\nb",
                           "\xc2\x85",
                           "https://example.org",
                           "mailto:a@b",
                           "\"a\",'b'",
                           "<script>&amp;]]>",
                           "_x0041_",
                           "_x005F_",
                           "\x1b[31m\x01\x0b\x1f",
                           "\xef\xbf\xbe",
                           "\xf0\x9f\x98\x80",
                           "é"}) {
    summary.strong.rows.push_back({"closed", text, 1.5});
  }
  summary.strong.rows.push_back({"closed", std::string("a\0b", 3), 1.5});
  summary.strong.rows.push_back({"closed", std::string(32767, 'x'), 1.5});
  expect_the_csv(summary);
  // Names of folders may look like this.
  EXPECT_EQ(workbook({{"a", {"b"}, {{"\xff"}}}}), workbook({{"a", {"b"}, {{"\xef\xbf\xbd"}}}}));
}

TEST(Workbook, ATextThatIsTooLongIsNamed) {
  STRATA_NEEDS_WORKBOOKS();
  const Sheet sheet{"closed", {"system", "notes"}, {{"box", std::string(32768, 'x')}}};
  EXPECT_EQ(testing_support::error_of([&] {
              workbook({sheet});
            }).find("line 2 of column 'notes' cannot be written to a workbook: "),
            0u);
}

TEST(Workbook, AMissingLibraryIsReported) {
  if (!workbook_library().empty()) GTEST_SKIP() << "built with libxlsxwriter";
  EXPECT_EQ(testing_support::error_of([] { workbook({}); }), "built without libxlsxwriter");
}

}  // namespace
}  // namespace strata::scoring

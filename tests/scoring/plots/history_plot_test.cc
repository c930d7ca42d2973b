#include "scoring/plots/history_plot.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"
#include "tests/support/temporary_directory.h"

namespace strata::scoring {
namespace {

using testing_support::occurrences;

class HistoryPlot : public testing_support::TemporaryDirectory {
 protected:
  std::vector<BuildComparison> read(const std::string& text) {
    write_file_atomically(path_, text);
    return read_build_comparisons({path_});
  }
  std::string error_of(const std::string& text) {
    return testing_support::error_of([&] { read(text); });
  }
  static std::string line_of(const std::string& numbers) {
    return R"({"version": 1, "date": "2031-02-03T04:05:06Z", "old": "aaa", "new": "bbb+",)"
           R"( "processor": "Zen 5, 2 cores", "numbers": {)" +
           numbers + "}}\n";
  }

  const std::filesystem::path path_ = directory_ / "history.jsonl";
};

TEST_F(HistoryPlot, ReadsALinePerComparison) {
  const auto runs = read(line_of(R"("step": {"ratio": 1.1, "interval": [1.05, 1.15]})") + "\n" +
                         line_of(R"("step": {"ratio": 0.5, "interval": null})"));
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].new_commit, "bbb+");
  EXPECT_EQ(runs[0].numbers.at("step").interval->second, 1.15);
  EXPECT_EQ(runs[1].numbers.at("step").ratio, 0.5);
  EXPECT_FALSE(runs[1].numbers.at("step").interval);
}

TEST_F(HistoryPlot, FaultsAreNamedByLine) {
  EXPECT_THAT(error_of(line_of("") + "{"),
              HasSubstr("history.jsonl: line 2: is not a JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("line 1: does not have version 1"));
  EXPECT_THAT(error_of(R"({"version": 1})"), HasSubstr("there are no 'numbers'"));
  EXPECT_THAT(error_of(R"({"version": 1, "numbers": {}})"), HasSubstr("there is no 'date'"));
  EXPECT_THAT(error_of(line_of(R"("step": 1)")), HasSubstr("step has no 'ratio'"));
  EXPECT_THAT(error_of(line_of(R"("step": {"ratio": -1})")),
              HasSubstr("-1 is not a ratio of times"));
  EXPECT_THAT(error_of(line_of(R"("step": {"ratio": 1, "interval": [1]})")),
              HasSubstr("step: 'interval' must have two numbers"));
}

TEST_F(HistoryPlot, DrawsAChartPerNumberAndARowPerComparison) {
  const auto runs = read(
      line_of(R"("step": {"ratio": 1.1, "interval": [1.05, 1.15]}, "check": {"ratio": 0.98})") +
      line_of(R"("step": {"ratio": 0.8, "interval": [0.7, 0.9]})"));
  const drawing::Plot plot = plot_history(runs, {});
  EXPECT_EQ(plot.drawn, 3u);
  const std::string& svg = plot.picture.elements;
  EXPECT_EQ(occurrences(svg, ">step<"), 1u);
  EXPECT_EQ(occurrences(svg, ">check<"), 1u);
  EXPECT_EQ(occurrences(svg, "aaa bbb+, 2031-02-03<"), 6u);  // a name, and its tip
  EXPECT_EQ(occurrences(svg, "+10.00 %, Zen 5, 2 cores"), 1u);
  EXPECT_EQ(occurrences(svg, ">-20.0 %<"), 1u);
}

TEST_F(HistoryPlot, OnlySelectsNumbers) {
  const auto runs = read(line_of(R"("step": {"ratio": 1.1}, "check": {"ratio": 0.98})"));
  EXPECT_EQ(plot_history(runs, {"ste"}).drawn, 1u);
  EXPECT_THROW(plot_history(runs, {"overlap"}), Error);
  EXPECT_THROW(plot_history({}, {}), Error);
  EXPECT_THROW(plot_history(std::vector(1001, runs.front()), {"step"}), Error);
}

}  // namespace
}  // namespace strata::scoring

#include "search/search_plot.h"

#include <unistd.h>

#include <regex>
#include <tuple>

#include "base/files.h"
#include "results/plots/gnuplot.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

class SearchPlotTest : public testing_support::TemporaryDirectory {
 protected:
  void add(int trial, int stage, const Settings& settings, double accuracy, double seconds,
           Ending ending = Ending::kMissed) {
    log_.add({{trial, stage, stage == kFinals ? 2u : 1u},
              settings,
              {ending, accuracy, 96, seconds, "", "no luck"}});
  }
  void add_some() {
    add(0, 0, {}, 0.10, 1);
    add(1, 0, {{"optimizer.lr", "0.001"}, {"optimizer.name", "adam"}}, 0.20, 2);
    add(2, 0, {{"optimizer.lr", "0.1"}, {"optimizer.name", "lamb"}}, 0.30, 3);
    add(3, 0, {{"optimizer.lr", "0.01"}, {"optimizer.name", "it's"}}, 0.25, 4);
    add(2, kFinals, {{"optimizer.lr", "0.1"}}, 0.35, 9, Ending::kReached);
    add(0, kFinals, {}, 0.20, 10);
  }
  SearchPlan plan_{.seed = 1, .trials = 4, .rungs = {96}, .finalists = 1, .seeds = 1};
  TrialLog log_{directory_ / "trials.jsonl"};
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(SearchPlotTest, ALineATrialOverItsAxes) {
  add_some();
  const results::Plot plot = plot_search(plan_, log_);
  EXPECT_EQ(plot.drawn, 6u);
  const std::string& script = plot.picture.script;
  // The best of rung 0 is drawn last: the largest rate, the last of three names, the highest
  // accuracy. Rates from 0.001 to 0.1 are on a logarithmic axis.
  EXPECT_TRUE(has(script, "$trial3 << EOD\n0 1.000000\n1 0.833333\n2 1.000000\nEOD")) << script;
  EXPECT_TRUE(has(script, "$trial2 << EOD\n0 0.500000\n1 0.500000\n2 0.750000\nEOD")) << script;
  // The configuration as it is has no settings: gaps.
  EXPECT_TRUE(has(script, "$trial0 << EOD\n\n\n2 0.000000\nEOD")) << script;
  EXPECT_TRUE(has(script, "title 'winner: trial 2'")) << script;
}

TEST_F(SearchPlotTest, EveryRunHasAPoint) {
  add_some();
  const std::string script = plot_search(plan_, log_).picture.script;
  EXPECT_TRUE(has(script, "$stage1 << EOD\n10 20 2\n9 35 1\nEOD")) << script;
}

TEST_F(SearchPlotTest, RunsThatFailedAreLeftOut) {
  add_some();
  add(4, 0, {}, 0, 0, Ending::kFailed);
  const results::Plot plot = plot_search(plan_, log_);
  EXPECT_EQ(plot.left_out, (std::vector<std::string>{"trial 4, rung 0: no luck"}));
  EXPECT_EQ(plot.drawn, 6u);
}

TEST_F(SearchPlotTest, NothingToDrawIsAnError) {
  testing_support::error_of([&] { plot_search(plan_, log_); });
}

TEST_F(SearchPlotTest, GnuplotDrawsIt) {
  add_some();
  const auto picture = directory_ / "search.svg";
  try {
    results::draw(plot_search(plan_, log_).picture, picture);
  } catch (const Error& error) {
    if (has(error.what(), "not installed")) GTEST_SKIP() << error.what();
    throw;
  }
  const std::string svg = read_file(picture);
  EXPECT_TRUE(has(svg, "optimizer.lr"));
  EXPECT_TRUE(has(svg, "masked-LM accuracy"));
  // Both legends: above the upper part, and beside the lower one.
  for (const auto& [entry, from, to] :
       {std::tuple("winner: trial 2", 0.0, 0.1),
        std::tuple("trial 0: the configuration as it is", 0.0, 0.1), std::tuple("rung 0", 0.6, 1.0),
        std::tuple("final", 0.6, 1.0)}) {
    std::smatch place;
    ASSERT_TRUE(std::regex_search(
        svg, place,
        std::regex(std::string(R"(translate\(([-0-9.]+),([-0-9.]+)\)[^>]*>\s*<text>)") + entry)))
        << entry;
    EXPECT_GT(std::stod(place[1]), 0) << entry;
    EXPECT_LT(std::stod(place[1]), 1100) << entry;
    EXPECT_GT(std::stod(place[2]), 900 * from) << entry;
    EXPECT_LT(std::stod(place[2]), 900 * to) << entry;
  }
}

}  // namespace
}  // namespace strata::search

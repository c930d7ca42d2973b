#include "search/search_plot.h"

#include <regex>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"
#include "tests/support/temporary_directory.h"

namespace strata::search {
namespace {

using testing_support::occurrences;

class SearchPlotTest : public testing_support::TemporaryDirectory {
 protected:
  void add(int trial, int stage, const Settings& settings, double accuracy, double took,
           Ending ending = Ending::kMissed) {
    log_.add({{trial, stage, stage == kFinals ? 2u : 1u},
              settings,
              {ending, accuracy, 96, took, "", "no luck"}});
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

// Returns the numbers of a path: x and y in turn.
std::vector<double> numbers_of(const std::string& path) {
  std::vector<double> numbers;
  const std::regex number("[0-9.]+");
  for (std::sregex_iterator at(path.begin(), path.end(), number), end; at != end; ++at) {
    numbers.push_back(std::stod(at->str()));
  }
  return numbers;
}

// Returns the path of a trial's line.
std::string line_of(const std::string& svg, int trial) {
  const std::string title = "\"><title>trial " + std::to_string(trial) + ", accuracy ";
  const size_t end = svg.find(title), begin = svg.rfind(" d=\"", end) + 4;
  return svg.substr(begin, end - begin);
}

TEST_F(SearchPlotTest, EveryTrialHasALineOverTheAxes) {
  add_some();
  const drawing::Plot plot = plot_search(plan_, log_);
  EXPECT_EQ(plot.drawn, 6u);
  const std::string& svg = plot.picture.elements;
  // The axes are the rate, the optimizer and the accuracy. Trial 2 has the largest rate, the last
  // of three names and the highest accuracy; trial 0 has the lowest accuracy.
  const std::vector<double> best = numbers_of(line_of(svg, 2));
  ASSERT_EQ(best.size(), 6u) << svg;
  const double top = best[1], bottom = numbers_of(line_of(svg, 0)).at(1), height = bottom - top;
  EXPECT_NEAR(best[3], top + height / 6, 0.1) << "the middle of the upper third";
  EXPECT_EQ(best[5], top);
  // Rates from 0.001 to 0.1 are on a logarithmic axis.
  const std::vector<double> middle = numbers_of(line_of(svg, 3));
  EXPECT_NEAR(middle[1], top + height / 2, 0.1);
  EXPECT_NEAR(middle[3], top + height / 2, 0.1);
  EXPECT_NEAR(middle[5], top + height / 4, 0.1);
  EXPECT_EQ(line_of(svg, 0).front(), 'M');
  EXPECT_THAT(line_of(svg, 0), Not(HasSubstr("L"))) << "it has no settings: gaps";
  EXPECT_LT(svg.find("<title>trial 0, acc"), svg.find("<title>trial 2, acc")) << "the best on top";
  EXPECT_EQ(occurrences(svg, ">winner: trial 2<"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, ">it&#39;s<"), 1u) << svg;
}

TEST_F(SearchPlotTest, EveryRunHasAPoint) {
  add_some();
  const std::string svg = plot_search(plan_, log_).picture.elements;
  const std::string winner = "<g class=\"c1\"><path class=\"dot\"", base = "<g class=\"c0\"><";
  for (const char* run :
       {"trial 2, finals: 35.00 % after 9 s", "trial 0, finals: 20.00 % after 10 s",
        "trial 3, rung 0: 25.00 % after 4 s"}) {
    EXPECT_EQ(occurrences(svg, std::string("<title>") + run + "</title>"), 1u) << run;
  }
  EXPECT_EQ(occurrences(svg, winner), 1u) << svg;
  EXPECT_EQ(occurrences(svg, base), 4u) << "two runs, a line and its key";
}

TEST_F(SearchPlotTest, BothPartsHaveALegend) {
  add_some();
  const std::string svg = plot_search(plan_, log_).picture.elements;
  size_t at = 0;
  for (const char* text : {">winner: trial 2<", ">trial 0: the configuration as it is<",
                           ">optimizer.lr<", ">rung 0<", ">finals<", ">masked-LM accuracy, %<"}) {
    const size_t found = svg.find(text, at);
    ASSERT_NE(found, svg.npos) << text << '\n' << svg;
    at = found;
  }
}

TEST_F(SearchPlotTest, RunsThatFailedAreLeftOut) {
  add_some();
  add(4, 0, {}, 0, 0, Ending::kFailed);
  const drawing::Plot plot = plot_search(plan_, log_);
  EXPECT_EQ(plot.left_out, (std::vector<std::string>{"trial 4, rung 0: no luck"}));
  EXPECT_EQ(plot.drawn, 6u);
}

TEST_F(SearchPlotTest, NothingToDrawIsAnError) {
  testing_support::error_of([&] { plot_search(plan_, log_); });
}

}  // namespace
}  // namespace strata::search

#include "plan/report/plan_plot.h"

#include <fmt/format.h>

#include <regex>
#include <string>

#include "plan/report/plan_file.h"
#include "plan/report/report.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"

namespace strata::plan {
namespace {

using testing_support::error_of;
using testing_support::occurrences;

PlanReport report_of(std::vector<int64_t> ranks) {
  PlanReport report;
  Planner& planner = report.planner;
  planner.calibration.costs = {.per_sample = 3e-3, .per_step = 20e-3};
  planner.samples = [](double) { return Samples{3e6, 0.02, "given"}; };
  for (const int64_t each : ranks) {
    report.predictions.push_back(planner.predict(each, 4096, {}));
  }
  return report;
}

TEST(PlanPlot, DrawsWhatTheReportSays) {
  PlanReport report = report_of({64, 8});
  CheckedSystem checked;
  checked.system.name = "Acme it's";
  checked.system.step.seconds = 0.25;
  checked.system.time_to_train = 600;
  checked.prediction = report.predictions[0];
  report.checked.push_back(checked);
  const drawing::Plot plot = plot_plan(plan_json(std::vector{report}), "plan.json");
  EXPECT_EQ(plot.drawn, 3u);
  EXPECT_TRUE(plot.left_out.empty());
  const std::string& svg = plot.picture.elements;
  size_t at = 0;
  for (const char* name :
       {"</title>8 x 512<", "</title>64 x 64<", "</title>Acme it&#39;s, 64 x 64<"}) {
    const size_t found = svg.find(name, at);
    ASSERT_NE(found, svg.npos) << name << '\n' << svg;
    at = found;
  }
  EXPECT_EQ(occurrences(svg, "<title>published: 250 ms</title>"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, "<title>published: 10 min</title>"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, "<path class=\"interval\""), 3u + 1) << "and the key";
  for (const std::string_view term : kStepTerms) {
    EXPECT_EQ(occurrences(svg, fmt::format("<title>{}: ", term)), 3u) << term;
    EXPECT_EQ(occurrences(svg, fmt::format(">{}<", term)), 1u) << "its key";
  }
}

// 8 ranks of 10 samples were measured.
TEST(PlanPlot, MarksExtrapolationsAndTheResultOfASearch) {
  PlanReport report;
  Planner& planner = report.planner;
  planner.measured.push_back({.name = "made", .ranks = 8, .batch = 80, .seconds = 0.05});
  planner.calibration.costs = {.per_sample = 3e-3, .per_step = 20e-3};
  planner.network = flat_network({1e-6, 1e10});
  planner.samples = [](double) { return Samples{3e6, 0.02, "given"}; };
  report.predictions = {planner.predict(8, 80, {}), planner.predict(16, 160, {}),
                        planner.predict(8, 160, {})};
  const auto drawn = [&] {
    return plot_plan(plan_json(std::vector{report}), "p").picture.elements;
  };
  std::string svg = drawn();
  const size_t parts = kStepTerms.size();
  EXPECT_EQ(occurrences(svg, "extrapolated: more than 8 ranks"), parts);
  EXPECT_EQ(occurrences(svg, "extrapolated: samples per rank outside 10 to 10"), parts);
  EXPECT_EQ(occurrences(svg, ">beyond the calibrated range<"), 1u);
  EXPECT_EQ(occurrences(svg, "of the search"), 0u);
  report.search = search(planner, {{8}, {80}, 1e12});
  svg = drawn();
  EXPECT_EQ(occurrences(svg, "</title>fastest of the search, 8 x 10<"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, ">found by the search<"), 1u);
}

// The length of a part is proportional to its time, whatever is drawn before it.
TEST(PlanPlot, BarsStandOnALinearAxis) {
  const std::string svg =
      plot_plan(plan_json(std::vector{report_of({1, 16})}), "p").picture.elements;
  const std::regex bar(
      "part p0\"[^>]*width=\"([0-9.]+)\" height=\"15\"><title>compute: ([0-9.]+)( k)?");
  std::vector<double> pixels_each;
  for (std::sregex_iterator found(svg.begin(), svg.end(), bar), end; found != end; ++found) {
    pixels_each.push_back(std::stod((*found)[1]) / std::stod((*found)[2]) /
                          ((*found)[3].matched ? 1000 : 1));
  }
  ASSERT_EQ(pixels_each.size(), 2u);
  EXPECT_NEAR(pixels_each[0] / pixels_each[1], 1, 0.02);
}

TEST(PlanPlot, OtherFilesAreRefusedByName) {
  std::string version = plan_json(std::vector{report_of({8})});
  version.replace(version.find("\"version\": 2"), 12, "\"version\": 1");
  std::string negative = plan_json(std::vector{report_of({8})}), endless = negative;
  const std::string term = "\"bubble\": 0.0";
  negative.replace(negative.find(term), term.size(), "\"bubble\": -0.5");
  endless.replace(endless.find(term), term.size(), "\"bubble\": 1e308");
  for (const std::string& text :
       {negative, endless, std::string("{"), std::string("[]"), std::string(R"({"version": 2})"),
        std::string(R"({"version": 2, "plans": []})"),
        std::string(R"({"version": 2, "plans": [{"predictions": [3], "checked": []}]})"),
        version}) {
    const std::string error = error_of([&] { plot_plan(text, "plan.json"); });
    EXPECT_EQ(error.find("plan.json: "), 0u) << error;
    EXPECT_THAT(error, HasSubstr("strata plan --json"));
  }
}

}  // namespace
}  // namespace strata::plan

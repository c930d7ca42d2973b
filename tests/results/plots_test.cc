#include "results/plots.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/files.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"

namespace strata::results {
namespace {

using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using testing_support::error_of;

constexpr double kMinute = 60'000;

// A log that evaluates at these minutes after run_start, and ends a minute later.
std::string log_of(const std::vector<std::pair<double, double>>& accuracies, bool success = true,
                   int batch_size = 1) {
  BertLog log = BertLog::passing();
  log.set("global_batch_size", std::to_string(batch_size));
  const double start = log.at("run_start").time_ms;
  log.without("eval_accuracy").without("run_stop");
  for (const auto& [minutes, accuracy] : accuracies) {
    log.append({"eval_accuracy", std::to_string(accuracy),
                "\"epoch_num\": " + std::to_string(static_cast<int>(1000 * minutes)),
                start + minutes * kMinute});
  }
  log.append({"run_stop", "null", success ? R"("status": "success")" : R"("status": "aborted")",
              start + (accuracies.empty() ? 1 : accuracies.back().first + 1) * kMinute});
  return log.text();
}

class Plots : public ::testing::Test {
 protected:
  void write(const std::string& system, int number, const std::string& text) {
    folder_.write("Acme/results/" + system + "/bert/result_" + std::to_string(number) + ".txt",
                  text);
    folder_.write("Acme/systems/" + system + ".json",
                  R"({"division": "open", "number_of_nodes": 1, "accelerators_per_node": 8, )"
                  R"("accelerator_model_name": "X & Y's <Z>"})");
  }
  std::vector<Curve> curves() {
    const std::filesystem::path paths[] = {folder_.path()};
    return read_curves(paths);
  }
  std::vector<Score> scores() {
    return score_directory(folder_.path(), {.ruleset = "5.0.0", .threads = 1});
  }

  TemporaryFolder folder_;
};

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_F(Plots, CurvesAreWhatLogsSayOfEvaluations) {
  write("small", 0, log_of({{0.5, 0.2}, {1, 0.3}, {2.5, 0.31}}));
  write("small", 1, log_of({{1, 0.25}}, false));
  write("small", 2, "nothing of interest\n");
  const std::vector<Curve> runs = curves();
  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].series, "Acme small");
  EXPECT_EQ(runs[0].benchmark, "bert");
  EXPECT_TRUE(runs[0].converged);
  ASSERT_EQ(runs[0].evaluations.size(), 3u);
  EXPECT_NEAR(runs[0].evaluations[2].minutes, 2.5, 1e-9);
  EXPECT_EQ(runs[0].evaluations[2].samples, 2500);
  EXPECT_NEAR(runs[0].evaluations[2].accuracy, 0.31, 1e-9);
  EXPECT_NE(curves_json(runs).find("\"minutes\": 2.5"), std::string::npos);
  EXPECT_FALSE(runs[1].converged);
  EXPECT_TRUE(runs[2].evaluations.empty());
  const std::filesystem::path one_log[] = {runs[1].log};
  EXPECT_EQ(read_curves(one_log)[0].series, runs[1].log.string());
}

TEST_F(Plots, ALogThatCannotBeReadIsLeftOutWithTheReason) {
  write("small", 0, log_of({{0.5, 0.2}}));
  write("small", 1, "");
  std::filesystem::resize_file(folder_.path() / "Acme/results/small/bert/result_1.txt",
                               compliance::EventLog::kMaxFileBytes + 1);
  const Plot plot = plot_curves(curves());
  EXPECT_EQ(plot.drawn, 1u);
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_NE(plot.left_out[0].find("a log may have"), std::string::npos) << plot.left_out[0];
  std::filesystem::create_symlink("nowhere", folder_.path() / "dangling");
  const std::filesystem::path dangling[] = {folder_.path() / "dangling"};
  EXPECT_NE(error_of([&] { read_curves(dangling); }).find("a link that leads nowhere"),
            std::string::npos);
}

TEST_F(Plots, OfRunsThatBeganAnewTheLastUpToItsEndIsMeant) {
  BertLog log = BertLog::passing();
  log.at("eval_accuracy").value = "0.1";
  const std::string first = log.without("run_stop").text();
  write("small", 0, first + log_of({{1, 0.2}, {2, 0.3}}) + log_of({{1, 0.4}}, false));
  const std::vector<Curve> runs = curves();
  EXPECT_TRUE(runs[0].converged);
  ASSERT_EQ(runs[0].evaluations.size(), 2u);
  EXPECT_NEAR(runs[0].evaluations[0].accuracy, 0.2, 1e-9);
}

// Some of BERT's logs have epochs where samples belong.
TEST_F(Plots, FewerSamplesThanABatchAreNone) {
  write("small", 0, log_of({{0.1, 0.2}, {0.2, 0.3}}, true, 200));
  EXPECT_EQ(curves()[0].evaluations[1].samples, 200);
  write("small", 0, log_of({{0.1, 0.2}, {0.2, 0.3}}, true, 201));
  EXPECT_FALSE(curves()[0].evaluations[1].samples);
}

TEST_F(Plots, FoldersOfTheSameNameAreSeriesOfTheirOwn) {
  for (const char* round : {"before", "after"}) {
    for (const char* number : {"0", "1"}) {
      folder_.write(std::string(round) + "/Acme/results/small/bert/result_" + number + ".txt",
                    log_of({{1, 0.3}}));
    }
  }
  const std::filesystem::path paths[] = {folder_.path() / "before", folder_.path() / "after",
                                         folder_.path() / "after" / "Acme"};
  const std::vector<Curve> runs = read_curves(paths);
  ASSERT_EQ(runs.size(), 4u) << "none twice";
  EXPECT_EQ(runs[0].series, runs[1].series);
  EXPECT_EQ(runs[2].series, runs[3].series);
  EXPECT_NE(runs[0].series, runs[2].series);
  EXPECT_NE(runs[0].series.find("before"), std::string::npos) << runs[0].series;
}

TEST_F(Plots, PathsWithoutLogsAreErrors) {
  const std::filesystem::path missing[] = {folder_.path() / "missing"}, empty[] = {folder_.path()};
  EXPECT_NE(error_of([&] { read_curves(missing); }).find("missing: is not there"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_curves(empty); }).find("result_N.txt"), std::string::npos);
}

TEST_F(Plots, ASeriesHasOneColourAndOneTitle) {
  write("big", 0, log_of({{1, 0.2}, {2, 0.3}}, false));
  write("big", 1, log_of({{1, 0.2}, {3, 0.3}}));
  write("small", 0, log_of({{4, 0.3}}));
  const Plot plot = plot_curves(curves(), {.target = 0.33});
  const std::string& script = plot.picture.script;
  EXPECT_EQ(plot.drawn, 3u);
  EXPECT_EQ(count(script, "linespoints lt 1"), 3u) << "two runs and the key\n" << script;
  EXPECT_EQ(count(script, "linespoints lt 2"), 2u) << script;
  EXPECT_EQ(count(script, "title 'Acme big (2 runs)'"), 1u) << script;
  EXPECT_EQ(count(script, "title 'Acme small'"), 1u) << script;
  EXPECT_EQ(count(script, "dt 2"), 2u) << "a run that did not converge, and the key\n" << script;
  EXPECT_EQ(count(script, "title 'did not converge'"), 1u) << script;
  EXPECT_NE(script.find("title 'target 0.33'"), std::string::npos) << script;
  EXPECT_NE(script.find("\n3 0.3\n"), std::string::npos) << script;
  const std::string over_samples =
      plot_curves(curves(), {.axis = CurveAxis::kSamples}).picture.script;
  EXPECT_NE(over_samples.find("\n3000 0.3\n"), std::string::npos) << over_samples;
}

TEST_F(Plots, ManySeriesLookDifferent) {
  for (int i = 0; i < 20; ++i) write("system" + std::to_string(i), 0, log_of({{1, 0.3}}));
  const std::string script = plot_curves(curves()).picture.script;
  std::set<std::string> looks;
  const std::string entry = "keyentry with linespoints ";
  for (size_t at = script.find(entry); at != script.npos; at = script.find(entry, at + 1)) {
    looks.insert(script.substr(at, script.find(" title", at) - at));
  }
  EXPECT_EQ(looks.size(), 20u) << script;
}

TEST_F(Plots, TheTargetIsTheOneThatAllLogsName) {
  const std::string event = BertLog::line({"quality_target", "0.33", "", 1});
  write("small", 0, event + log_of({{1, 0.3}}));
  EXPECT_NE(plot_curves(curves()).picture.script.find("title 'target 0.33'"), std::string::npos);
  EXPECT_NE(plot_curves(curves(), {.target = 0.5}).picture.script.find("'target 0.5'"),
            std::string::npos);
  write("small", 1, log_of({{1, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("target"), std::string::npos);
}

TEST_F(Plots, FarLongerRunsAreDrawnOnALogarithmicAxis) {
  write("big", 0, log_of({{1, 0.3}}));
  write("small", 0, log_of({{19, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("logscale"), std::string::npos);
  write("small", 1, log_of({{21, 0.3}}));
  EXPECT_NE(plot_curves(curves()).picture.script.find("set logscale x"), std::string::npos);
  write("small", 2, log_of({{0, 0.2}, {1, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("logscale"), std::string::npos)
      << "nothing is drawn at zero there";
}

TEST_F(Plots, WhatCannotBeDrawnIsSaid) {
  write("small", 0, "nothing of interest\n");
  EXPECT_NE(error_of([&] { plot_curves(curves()); }).find("result_0.txt: has no evaluations"),
            std::string::npos);
  EXPECT_NE(error_of([&] { plot_scores(scores()); }).find("nothing to plot"), std::string::npos);
  write("small", 0, log_of({{1, 0.3}}));
  std::vector<Curve> runs = curves();
  runs.push_back(runs[0]);
  runs[1].benchmark = "ssd";
  EXPECT_NE(error_of([&] { plot_curves(runs); }).find("(bert, ssd)"), std::string::npos);
  runs.pop_back();
  for (Evaluation& evaluation : runs[0].evaluations) evaluation.samples.reset();
  EXPECT_NE(error_of([&] { plot_curves(runs, {.axis = CurveAxis::kSamples}); }).find("samples"),
            std::string::npos);
  BertLog boxes = BertLog::passing();
  boxes.at("eval_accuracy").value = R"({"BBOX": 0.3})";
  write("other", 0, boxes.text());
  const Plot plot = plot_curves(curves());
  EXPECT_EQ(plot.drawn, 1u);
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_NE(plot.left_out[0].find("is not a number"), std::string::npos);
  const Picture picture = plot.picture;
  EXPECT_NE(error_of([&] { draw(picture, folder_.path() / "x.jpg"); }).find(".svg, .png or .pdf"),
            std::string::npos);
}

TEST_F(Plots, ScoresAreSortedByTimeToTrain) {
  write("slow", 0, log_of({{9, 0.3}}));
  write("fast", 0, log_of({{3, 0.3}}));
  write("never", 0, log_of({}, false));
  write("at_once", 0, log_of({{-1, 0.3}}));
  const Plot plot = plot_scores(scores());
  const std::string& script = plot.picture.script;
  EXPECT_EQ(plot.drawn, 2u);
  EXPECT_EQ(plot.left_out.size(), 2u);
  const size_t fast = script.find(
                   "'Acme fast (8 x X & Y''s <Z>), 1 of 10 runs' at graph -0.015, first 0"),
               slow = script.find(
                   "'Acme slow (8 x X & Y''s <Z>), 1 of 10 runs' at graph -0.015, first 1");
  EXPECT_NE(fast, std::string::npos) << script;
  EXPECT_NE(slow, std::string::npos) << script;
  EXPECT_EQ(script.find("never"), std::string::npos) << script;
  // Minutes, and sequences a second of one of eight accelerators.
  EXPECT_NE(script.find("\n0 4 1.5625\n1 10 1.875\n"), std::string::npos) << script;
}

TEST(GnuplotString, KeepsTextAsItIs) {
  EXPECT_EQ(gnuplot_string("plain"), "'plain'");
  EXPECT_EQ(gnuplot_string("it's `rm` \\ \"$x\" @m %s"), "'it''s `rm` \\ \"$x\" @m %s'");
  EXPECT_EQ(gnuplot_string("two\nlines\t\x01"), "'two lines  '");
  EXPECT_EQ(gnuplot_string("not \xff UTF-8"), "'not \xef\xbf\xbd UTF-8'");
}

// ---- With gnuplot itself

class DrawnPlots : public Plots {
 protected:
  void SetUp() override {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "gnuplot is not installed";
    }
  }
};

TEST_F(DrawnPlots, PicturesShowAllTheText) {
  write("it's \\{a}_`b` $x 100%g %s", 0, log_of({{1, 0.2}, {2, 0.3}}));
  write("other", 0, log_of({{50, 0.2}, {60, 0.3}}));
  for (const bool of_scores : {false, true}) {
    const Picture picture = (of_scores ? plot_scores(scores()) : plot_curves(curves())).picture;
    const std::filesystem::path svg = folder_.path() / "new" / "plot.svg";
    draw(picture, svg);
    const std::string text = read_file(svg);
    EXPECT_NE(text.find("Acme it's \\{a}_`b` $x 100%g %s"), std::string::npos) << text;
    EXPECT_NE(text.find("Acme other"), std::string::npos) << text;
    EXPECT_NE(text.find("</svg>"), std::string::npos);
    if (of_scores) {
      EXPECT_NE(text.find("X &amp; Y's &lt;Z"), std::string::npos) << text;
    }
    draw(picture, folder_.path() / "plot.png");
    EXPECT_EQ(read_file(folder_.path() / "plot.png").substr(1, 3), "PNG");
    draw(picture, folder_.path() / "plot.pdf");
    EXPECT_EQ(read_file(folder_.path() / "plot.pdf").substr(0, 4), "%PDF");
    draw(picture, folder_.path() / "plot.gp");
    const std::string script = read_file(folder_.path() / "plot.gp");
    EXPECT_EQ(script, whole_script(picture));
    EXPECT_TRUE(script.ends_with(picture.script));
  }
}

// As its first line says.
TEST_F(DrawnPlots, AScriptCanBeDrawnElsewhere) {
  write("a_b", 0, log_of({{1, 0.2}, {2, 0.3}}));
  const std::filesystem::path script = folder_.path() / "plot.gp",
                              svg = folder_.path() / "plot.svg";
  draw(plot_curves(curves()).picture, script);
  std::string command = read_file(script);
  command = command.substr(2, command.find('\n') - 2);
  command.replace(command.find("FILE.svg"), 8, svg.string());
  command.replace(command.find("THIS_FILE"), 9, script.string());
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_NE(read_file(svg).find("Acme a_b"), std::string::npos);
}

TEST_F(DrawnPlots, AScriptThatFailsLeavesThePictureThatIsThere) {
  const std::filesystem::path svg = folder_.write("plot.svg", "of yesterday");
  const std::string error = error_of([&] { draw({.script = "plot no_such_function(x)\n"}, svg); });
  EXPECT_NE(error.find("could not draw"), std::string::npos) << error;
  EXPECT_NE(error.find("no_such_function"), std::string::npos) << error;
  EXPECT_EQ(read_file(svg), "of yesterday");
}

}  // namespace
}  // namespace strata::results

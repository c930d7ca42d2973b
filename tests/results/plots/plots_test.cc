#include "results/plots/plots.h"

#include <fmt/format.h>
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

// Their folders differ in the middle of a long path, which labels leave out.
TEST_F(Plots, SystemsOfOneNameHaveLabelsOfTheirOwn) {
  const std::string begin = "a_folder_with_a_long_name/", end = "/another_folder_with_a_long_name";
  for (const char* version : {"one", "two"}) {
    for (int i = 0; i < 2; ++i) {
      folder_.write(
          begin + version + end + "/Acme/results/small/bert/result_" + std::to_string(i) + ".txt",
          log_of({{1.0 + i, 0.3}}));
    }
  }
  const std::string over_time = plot_curves(curves()).picture.script,
                    of_scores = plot_scores(scores()).picture.script;
  for (const char* version : {"one", "two"}) {
    const std::string place = "Acme small in " + (folder_.path() / begin).string() + version + end;
    EXPECT_EQ(count(over_time, "'" + place + "'"), 1u) << over_time;
    EXPECT_EQ(count(of_scores, "'" + place), 1u) << of_scores;
  }
}

// By samples, the system 'late' would come first, and another of its runs would be in the middle.
TEST_F(Plots, TheSameRunsAndColoursStandOverTimeAndOverSamples) {
  const auto log = [&](double minutes, int samples) {
    BertLog one = BertLog::passing();
    one.set("global_batch_size", "1").without("eval_accuracy").without("run_stop");
    const double start = one.at("run_start").time_ms;
    one.append({"eval_accuracy", "0.3", "\"epoch_num\": " + std::to_string(samples),
                start + minutes * kMinute});
    one.append({"run_stop", "null", R"("status": "success")", start + minutes * kMinute + 1});
    return one.text();
  };
  write("late", 0, log(7, 11));
  write("late", 1, log(6, 13));
  write("late", 2, log(5, 12));
  write("soon", 0, log(2, 20));
  const std::string time = plot_curves(curves()).picture.script;
  const std::string samples = plot_curves(curves(), {.axis = CurveAxis::kSamples}).picture.script;
  for (const std::string& script : {time, samples}) {
    const size_t late = script.find("'Acme late"), soon = script.find("'Acme soon");
    ASSERT_NE(late, script.npos);
    ASSERT_NE(soon, script.npos);
    EXPECT_NE(script.substr(late, 120).find("textcolor rgb '#d55e00'"), script.npos) << script;
    EXPECT_NE(script.substr(soon, 120).find("textcolor rgb '#0072b2'"), script.npos) << script;
  }
  EXPECT_EQ(count(time, "set arrow from 6, "), 1u) << time;
  EXPECT_EQ(count(samples, "set arrow from 13, "), 1u) << samples;
}

TEST_F(Plots, PathsWithoutLogsAreErrors) {
  const std::filesystem::path missing[] = {folder_.path() / "missing"}, empty[] = {folder_.path()};
  EXPECT_NE(error_of([&] { read_curves(missing); }).find("missing: is not there"),
            std::string::npos);
  EXPECT_NE(error_of([&] { read_curves(empty); }).find("result_N.txt"), std::string::npos);
}

TEST_F(Plots, ASystemIsLabelledAtTheEndOfItsMedianRun) {
  write("big", 0, log_of({{1, 0.2}, {2, 0.3}}, false));
  write("big", 1, log_of({{1, 0.2}, {3, 0.3}}));
  write("big", 2, log_of({{1, 0.2}, {5, 0.3}}));
  write("big", 3, log_of({{1, 0.2}, {8, 0.3}}));
  write("small", 0, log_of({{4, 0.31}}));
  const Plot plot = plot_curves(curves(), {.target = 0.33});
  const std::string& script = plot.picture.script;
  EXPECT_EQ(plot.drawn, 5u);
  EXPECT_EQ(count(script, "lc rgb '#800072b2' lw 0.7"), 0u) << "the slower system comes second";
  EXPECT_EQ(count(script, "lc rgb '#80d55e00' lw 0.7"), 3u) << script;
  EXPECT_EQ(count(script, "lc rgb '#d55e00' lw 2 "), 1u) << script;
  EXPECT_EQ(count(script, "lc rgb '#0072b2' lw 2 "), 1u) << script;
  EXPECT_EQ(count(script, "'Acme big, 8 X & Y''s <Z>'"), 1u) << script;
  EXPECT_EQ(count(script, "'Acme small, 8 X & Y''s <Z>'"), 1u) << script;
  EXPECT_EQ(count(script, "set arrow from 5, "), 1u) << "of 3, 5 and 8 minutes\n" << script;
  EXPECT_EQ(count(script, "set arrow from 4, "), 1u) << script;
  EXPECT_EQ(count(script, " dt 2 notitle"), 1u) << script;
  EXPECT_NE(script.find("'thick: median run;  dashed: not reached'"), std::string::npos) << script;
  EXPECT_NE(script.find("'bert, accuracy over time: 2 systems, 5 runs'"), std::string::npos);
  EXPECT_NE(script.find("\n3 0.3\n"), std::string::npos) << script;
  const std::string over_samples =
      plot_curves(curves(), {.axis = CurveAxis::kSamples}).picture.script;
  EXPECT_NE(over_samples.find("\n3000 0.3\n"), std::string::npos) << over_samples;
  EXPECT_NE(over_samples.find("'samples'"), std::string::npos) << over_samples;
}

TEST_F(Plots, ManySystemsHaveAsManyLabelsAsThereIsRoomFor) {
  const auto labels = [](const std::string& script) { return count(script, "rotate by"); };
  for (int i = 0; i < 9; ++i) write("system" + std::to_string(i), 0, log_of({{1, 0.3}}));
  std::string script = plot_curves(curves()).picture.script;
  EXPECT_EQ(labels(script), 9u);
  EXPECT_EQ(script.find("others"), std::string::npos) << script;
  for (int i = 9; i < 100; ++i) {
    write("system" + std::to_string(i), 0, log_of({{1 + i / 10.0, 0.3}}));
  }
  folder_.write("Slow/results/only/bert/result_0.txt", log_of({{5, 0.3}}));
  script = plot_curves(curves()).picture.script;
  EXPECT_GT(labels(script), 30u);
  EXPECT_LT(labels(script), 60u);
  EXPECT_NE(script.find(fmt::format("pale grey: {} others'", 101 - labels(script))),
            std::string::npos)
      << script;
  EXPECT_EQ(count(script, "'Slow only'"), 1u) << "the fastest of its submitter";
  EXPECT_EQ(count(script, "'Acme system99, "), 1u) << "far from others";
}

TEST_F(Plots, SubmittersHaveColoursOfTheirOwnWhileTheyLast) {
  const auto script_of = [&](int submitters) {
    for (int i = 0; i < submitters; ++i) {
      for (const char* system : {"one", "two"}) {
        folder_.write(fmt::format("S{}/results/{}/bert/result_0.txt", i, system),
                      log_of({{1 + i, 0.3}}));
      }
    }
    return plot_curves(curves()).picture.script;
  };
  const auto colours_in = [](const std::string& script) {
    std::set<std::string> colours;
    const std::string text = "textcolor rgb '#";
    for (size_t at = script.find(text); at != script.npos; at = script.find(text, at + 1)) {
      colours.insert(script.substr(at + text.size(), 6));
    }
    return colours.size();
  };
  EXPECT_EQ(colours_in(script_of(2)), 4u) << "one a system, of which there are few";
  const std::string script = script_of(9);
  EXPECT_EQ(colours_in(script), 8u) << script;
  EXPECT_EQ(count(script, "textcolor rgb '#0072b2'"), 2u) << script;
  EXPECT_EQ(count(script, "textcolor rgb '#555555'"), 4u) << "the eighth and the ninth";
}

TEST_F(Plots, TheTargetIsTheOneThatAllLogsNameElseMlperfs) {
  const std::string event = BertLog::line({"quality_target", "0.33", "", 1});
  write("small", 0, event + log_of({{1, 0.3}}));
  EXPECT_NE(plot_curves(curves()).picture.script.find("'target 0.33'"), std::string::npos);
  EXPECT_NE(plot_curves(curves(), {.target = 0.5}).picture.script.find("'target 0.5'"),
            std::string::npos);
  write("small", 1, log_of({{1, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("target"), std::string::npos);
  write("small", 0, log_of({{1, 0.3}}));
  EXPECT_NE(plot_curves(curves()).picture.script.find("'target 0.72'"), std::string::npos);
}

TEST_F(Plots, TheRangeNearTheTargetIsStretchedAndSaysSo) {
  write("small", 0, log_of({{1, 0.1}, {2, 0.5}, {3, 0.65}, {4, 0.703}, {5, 0.71}, {6, 0.722}}));
  const std::string script = plot_curves(curves()).picture.script;
  EXPECT_NE(script.find("'above 0.7:'"), std::string::npos) << script;
  EXPECT_NE(script.find("'stretched 41 x'"), std::string::npos) << script;
  EXPECT_NE(script.find("'0.7' 0.4"), std::string::npos) << "a tic\n" << script;
  EXPECT_NE(script.find("\n4 0.703\n"), std::string::npos) << "data as logged\n" << script;
}

TEST_F(Plots, TheRoundIsTheOneThatThePathNames) {
  folder_.write("v2.0/Acme/results/small/bert/result_0.txt", log_of({{1, 0.3}}));
  EXPECT_EQ(curves()[0].round, "2.0.0");
  EXPECT_NE(plot_curves(curves()).picture.script.find(
                "'bert, MLPerf Training v2.0, accuracy over time: 1 system, 1 run'"),
            std::string::npos);
}

TEST_F(Plots, FarLongerRunsAreDrawnOnALogarithmicAxis) {
  write("big", 0, log_of({{1, 0.3}}));
  write("small", 0, log_of({{19, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("logscale"), std::string::npos);
  write("small", 1, log_of({{21, 0.3}}));
  const std::string script = plot_curves(curves()).picture.script;
  EXPECT_NE(script.find("set logscale x"), std::string::npos);
  EXPECT_NE(script.find("('1' 1, '2' 2, '5' 5, '10' 10, '20' 20)"), std::string::npos) << script;
  write("small", 2, log_of({{0, 0.2}, {1, 0.3}}));
  EXPECT_EQ(plot_curves(curves()).picture.script.find("logscale"), std::string::npos)
      << "nothing is drawn at zero there";
}

// Too many, too equal or too few for axes, labels and medians.
TEST_F(Plots, OddRunsAreDrawnTo) {
  const auto drawn = [&] { return plot_curves(curves()).drawn; };
  write("once", 0, log_of({{1, 0.3}}));
  EXPECT_NE(plot_curves(curves()).picture.script.find("with linespoints"), std::string::npos)
      << "one evaluation is a point";
  for (int i = 0; i < 12; ++i) write("equal" + std::to_string(i), 0, log_of({{1, 0.3}}));
  EXPECT_EQ(drawn(), 13u);
  write("at_start", 0, log_of({{0, 0.3}}));
  write("before", 0, log_of({{-1, 0.3}, {0, 0.3}}));
  write("same", 0, log_of({{2, 0.72}, {2, 0.72}, {2, 0.72}}));
  EXPECT_EQ(drawn(), 16u);
}

TEST_F(Plots, WhatCannotBeDrawnIsSaid) {
  write("small", 0, "nothing of interest\n");
  EXPECT_NE(error_of([&] { plot_curves(curves()); }).find("result_0.txt: without evaluations"),
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
  EXPECT_NE(plot.left_out[0].find("that is not a number"), std::string::npos);
  const Picture picture = plot.picture;
  EXPECT_NE(error_of([&] { draw(picture, folder_.path() / "x.jpg"); }).find(".svg, .png or .pdf"),
            std::string::npos);
}

TEST_F(Plots, LogsOfAFolderAreLeftOutTogether) {
  write("small", 0, log_of({{1, 0.3}}));
  for (const int i : {0, 1, 2}) write("none", i, log_of({}));
  const Plot plot = plot_curves(curves());
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_NE(plot.left_out[0].find("none/bert: 3 logs: without evaluations"), std::string::npos)
      << plot.left_out[0];
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
  for (const char* row :
       {"'Acme fast, 8 X & Y''s <Z>, 1 of 10 runs' at graph -0.02, first 0 right",
        "'Acme slow, 8 X & Y''s <Z>, 1 of 10 runs' at graph -0.02, first 1 right",
        "'4' at graph 1.02, first 0 left", "'10' at graph 1.02, first 1 left",
        // Sequences a second of one of eight accelerators.
        "'1.562' at graph 1.02, first 0 left", "$rate << EOD\n0 1.5625 0.0000\n1 1.875 0.0000\n",
        "$mean << EOD\n0 4 0.0000\n1 10 0.0000\n"}) {
    EXPECT_NE(script.find(row), std::string::npos) << row << '\n' << script;
  }
  EXPECT_EQ(script.find("never"), std::string::npos) << script;
}

TEST_F(Plots, RunsAreDotsThatTellWhichOnesCount) {
  for (int i = 0; i < 10; ++i) write("ten", i, log_of({{9.0 + i, 0.3}}, i != 7));
  const std::vector<Score> all = scores();
  EXPECT_EQ(runs_in_mean(all[0]),
            std::vector<bool>({false, true, true, true, true, true, true, false, true, true}))
      << "the run that failed is the slowest one";
  const std::string script = plot_scores(all).picture.script;
  const auto block = [&](const std::string& name) {
    const size_t begin = script.find(name + " << EOD\n");
    return script.substr(begin, script.find("EOD\n", begin + name.size() + 8) - begin);
  };
  EXPECT_EQ(count(block("$counts"), "\n0 "), 8u) << script;
  EXPECT_NE(block("$dropped").find("\n0 10 "), std::string::npos) << script;
  EXPECT_NE(block("$failed").find("\n0 17 "), std::string::npos) << script;
  for (const char* word :
       {"'score'", "'run'", "'run that the olympic mean drops'", "'run that does not count'"}) {
    EXPECT_EQ(count(script, word), 1u) << word << '\n' << script;
  }
  EXPECT_EQ(script.find("boxxyerror"), std::string::npos) << "no bars";
}

TEST_F(Plots, ScoresFarApartHaveTheSpreadOfTheirRunsBeside) {
  for (const int i : {0, 1, 2}) write("fast", i, log_of({{i == 2 ? 7.0 : 0.9 + 0.1 * i, 0.3}}));
  write("slow", 0, log_of({{99, 0.3}}));
  const std::string script = plot_scores(scores()).picture.script;
  EXPECT_NE(script.find("set logscale xx2"), std::string::npos) << script;
  EXPECT_NE(script.find("'runs against their mean, %'"), std::string::npos) << script;
  EXPECT_NE(script.find("\n0 8 50.0000\n"), std::string::npos) << "far from 3.97\n" << script;
  EXPECT_NE(script.find("'farther than 50 % at the edge'"), std::string::npos) << script;
  write("slow", 0, log_of({{9, 0.3}}));
  const std::string near = plot_scores(scores()).picture.script;
  EXPECT_EQ(near.find("'runs against their mean, %'"), std::string::npos) << near;
}

TEST_F(Plots, AScaledScoreSaysItsFactor) {
  write("scaled", 0, log_of({{9, 0.3}}));
  folder_.write("Acme/results/scaled/bert/scaling.json", R"({"scaling_factor": 1.25})");
  EXPECT_NE(plot_scores(scores()).picture.script.find("'12.5 (x 1.25)'"), std::string::npos);
}

TEST(GnuplotString, KeepsTextAsItIs) {
  EXPECT_EQ(gnuplot_string("plain"), "'plain'");
  EXPECT_EQ(gnuplot_string("it's `rm` \\ \"$x\" @m %s"), "'it''s `rm` \\ \"$x\" @m %s'");
  EXPECT_EQ(gnuplot_string("two\nlines\t\x01"), "'two lines  '");
  EXPECT_EQ(gnuplot_string("'quoted'"), "\"'\".'quoted'''");
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

TEST_F(DrawnPlots, HostileNamesStayTextAndShort) {
  const std::string hostile[] = {"'; set output '/tmp/x",
                                 "\"`touch x`\"",
                                 "back\\slash\\n{/Bold x}",
                                 "<script>alert(1)</script>",
                                 "line\nbreak\ttab\x01",
                                 "not \xff UTF-8",
                                 std::string(3'000'000, '\x80'),
                                 std::string(3'000'000, 'x'),
                                 "@macro $0 %s %1$n",
                                 "-0",
                                 ""};
  std::vector<Curve> runs;
  std::vector<Score> all;
  for (const std::string& name : hostile) {
    Curve& curve = runs.emplace_back();
    curve.series = curve.submitter = curve.accelerator = name;
    curve.accelerators = 8;
    curve.benchmark = hostile[3] + hostile[0];
    curve.evaluations = {{1, 1000, 0.3}, {2, 2000, 0.4}};
    Score& score = all.emplace_back();
    score.folder.submitter_path = "there";
    score.folder.submitter = score.system.accelerator = name;
    score.folder.benchmark = hostile[3] + hostile[0];
    score.system.accelerators = 8;
    score.unscaled_ms = score.time_to_train_ms = kMinute;
    score.runs = {{.time_to_train_ms = kMinute, .duration_ms = kMinute, .counts = true}};
  }
  for (const bool of_scores : {false, true}) {
    const Picture picture = (of_scores ? plot_scores(all) : plot_curves(runs)).picture;
    EXPECT_LT(picture.script.size(), 50'000u);
    EXPECT_LT(picture.height, 15);
    const std::filesystem::path svg = folder_.path() / "plot.svg";
    draw(picture, svg);
    const std::string text = read_file(svg);
    EXPECT_EQ(text.find("<script>"), std::string::npos);
    for (const char* part :
         {"back\\slash\\n{/Bold x}", "&lt;script>alert(1)&lt;/script>", "line break tab",
          "`touch x`", "'; set output '/tmp/x", "@macro $0 %s"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
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

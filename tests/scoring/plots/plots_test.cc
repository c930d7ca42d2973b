#include "scoring/plots/plots.h"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "base/files/files.h"
#include "tests/compliance/bert_log.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"
#include "tests/support/occurrences.h"

namespace strata::scoring {
namespace {

using drawing::Plot;
using ::strata::testing::BertLog;
using ::strata::testing::TemporaryFolder;
using testing_support::error_of;
using testing_support::occurrences;

constexpr double kMinute = 60'000;

// Returns a log that evaluates at these minutes after run_start, and ends a minute later.
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

// Returns attributes of the elements of a class, in the order of drawing.
std::vector<std::string> elements_of(const std::string& svg, const std::string& classes) {
  std::vector<std::string> elements;
  const std::string begin = " class=\"" + classes + "\" ";
  for (size_t at = svg.find(begin); at != svg.npos; at = svg.find(begin, at + 1)) {
    elements.push_back(svg.substr(at + begin.size(), svg.find('>', at) - at - begin.size()));
  }
  return elements;
}

// Returns the colour of a name: the class of its group.
std::string colour_of(const std::string& svg, const std::string& name) {
  const size_t group = svg.rfind("<g class=\"", svg.find('>' + name)) + 10;
  return svg.substr(group, svg.find('"', group) - group);
}

// Returns the position of the line that leads to a name.
double place_of(const std::string& svg, const std::string& name) {
  const std::string leader = "class=\"leader\" d=\"M";
  const size_t at = svg.rfind(leader, svg.find('>' + name)) + leader.size();
  return std::stod(svg.substr(at));
}

// Returns the names of the ticks below an axis.
std::vector<std::string> ticks_of(const std::string& svg) {
  std::vector<std::string> ticks;
  const std::regex tick("<text class=\"tick middle\"[^>]*>([^<]*)<");
  for (std::sregex_iterator match(svg.begin(), svg.end(), tick), end; match != end; ++match) {
    ticks.push_back((*match)[1]);
  }
  return ticks;
}

TEST_F(Plots, CurvesAreReadFromEvaluations) {
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
  EXPECT_THAT(curves_json(runs), HasSubstr("\"minutes\": 2.5"));
  EXPECT_FALSE(runs[1].converged);
  EXPECT_TRUE(runs[2].evaluations.empty());
  const std::filesystem::path one_log[] = {runs[1].log};
  EXPECT_EQ(read_curves(one_log)[0].series, runs[1].log.string());
}

TEST_F(Plots, ALogThatCannotBeReadIsLeftOutWithTheReason) {
  write("small", 0, log_of({{0.5, 0.2}}));
  write("small", 1, "");
  std::filesystem::resize_file(folder_.path() / "Acme/results/small/bert/result_1.txt",
                               mllog::LogReader::kMaxFileBytes + 1);
  const Plot plot = plot_curves(curves());
  EXPECT_EQ(plot.drawn, 1u);
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_THAT(plot.left_out[0], HasSubstr("a log may have"));
  std::filesystem::create_symlink("nowhere", folder_.path() / "dangling");
  const std::filesystem::path dangling[] = {folder_.path() / "dangling"};
  EXPECT_THAT(error_of([&] { read_curves(dangling); }), HasSubstr("a broken link"));
}

TEST_F(Plots, TheLastFinishedRunOfALogIsDrawn) {
  BertLog log = BertLog::passing();
  log.at("eval_accuracy").value = "0.1";
  const std::string first = log.without("run_stop").text();
  write("small", 0, first + log_of({{1, 0.2}, {2, 0.3}}) + log_of({{1, 0.4}}, false));
  const std::vector<Curve> runs = curves();
  EXPECT_TRUE(runs[0].converged);
  ASSERT_EQ(runs[0].evaluations.size(), 2u);
  EXPECT_NEAR(runs[0].evaluations[0].accuracy, 0.2, 1e-9);
}

// Some BERT logs have epochs instead of samples.
TEST_F(Plots, EpochsAreNotTakenForSamples) {
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
  EXPECT_THAT(runs[0].series, HasSubstr("before"));
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
  const std::string over_time = plot_curves(curves()).picture.elements,
                    of_scores = plot_scores(scores()).picture.elements;
  for (const char* version : {"one", "two"}) {
    const std::string place = "Acme small in " + (folder_.path() / begin).string() + version + end;
    EXPECT_EQ(occurrences(over_time, '>' + place + '<'), 1u) << over_time;
    EXPECT_EQ(occurrences(of_scores, "</title>" + place), 1u) << of_scores;
  }
}

// By samples, the system 'late' would come first, and another of its runs would be the median.
TEST_F(Plots, PlotsOverTimeAndSamplesHaveTheSameRunsAndColours) {
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
  const std::string time = plot_curves(curves()).picture.elements;
  const std::string samples = plot_curves(curves(), {.axis = CurveAxis::kSamples}).picture.elements;
  for (const std::string& svg : {time, samples}) {
    EXPECT_EQ(colour_of(svg, "Acme late"), "c1") << svg;
    EXPECT_EQ(colour_of(svg, "Acme soon"), "c0") << svg;
  }
  // Axes begin at zero, and their margin is 4 %: 6 of 7 minutes, 13 of 20 samples.
  EXPECT_NEAR((place_of(time, "Acme late") - 76) / (1070 - 76), 6 / 7.28, 1e-3) << time;
  EXPECT_NEAR((place_of(samples, "Acme late") - 76) / (1070 - 76), 13 / 20.8, 1e-3) << samples;
}

TEST_F(Plots, PathsWithoutLogsAreErrors) {
  const std::filesystem::path missing[] = {folder_.path() / "missing"}, empty[] = {folder_.path()};
  EXPECT_THAT(error_of([&] { read_curves(missing); }), HasSubstr("missing: is missing"));
  EXPECT_THAT(error_of([&] { read_curves(empty); }), HasSubstr("result_N.txt"));
}

TEST_F(Plots, ASystemIsLabelledAtTheEndOfItsMedianRun) {
  write("big", 0, log_of({{1, 0.2}, {2, 0.3}}, false));
  write("big", 1, log_of({{1, 0.2}, {3, 0.3}}));
  write("big", 2, log_of({{1, 0.2}, {5, 0.3}}));
  write("big", 3, log_of({{1, 0.2}, {8, 0.3}}));
  write("small", 0, log_of({{4, 0.31}}));
  const Plot plot = plot_curves(curves(), {.target = 0.33});
  const std::string& svg = plot.picture.elements;
  EXPECT_EQ(plot.drawn, 5u);
  EXPECT_EQ(elements_of(svg, "line").size(), 2u) << svg;
  EXPECT_EQ(elements_of(svg, "line dashed").size(), 1u) << "the run without success";
  EXPECT_EQ(elements_of(svg, "line bold").size(), 2u) << "the median run, and its key";
  EXPECT_EQ(elements_of(svg, "dot").size(), 1u) << "the only evaluation of a run";
  EXPECT_EQ(colour_of(svg, "Acme big, 8 X &amp; Y&#39;s &lt;Z&gt;<"), "c1") << "it is slower";
  EXPECT_EQ(colour_of(svg, "Acme small, 8 X &amp; Y&#39;s &lt;Z&gt;<"), "c0");
  EXPECT_NEAR((place_of(svg, "Acme big") - 76) / (1070 - 76), 5 / 8.32, 1e-3) << "of 3, 5 and 8";
  for (const char* text : {">median run<", ">target not reached<", ">target 0.33<",
                           ">bert, accuracy over time: 2 systems, 5 runs<"}) {
    EXPECT_EQ(occurrences(svg, text), 1u) << text << '\n' << svg;
  }
  const std::string over_samples =
      plot_curves(curves(), {.axis = CurveAxis::kSamples}).picture.elements;
  EXPECT_NEAR((place_of(over_samples, "Acme big") - 76) / (1070 - 76), 5 / 8.32, 1e-3);
  EXPECT_EQ(occurrences(over_samples, ">samples<"), 1u) << over_samples;
}

TEST_F(Plots, ManySystemsHaveAsManyLabelsAsThereIsRoomFor) {
  const auto labels = [](const std::string& svg) { return occurrences(svg, "rotate(-55"); };
  for (int i = 0; i < 9; ++i) write("system" + std::to_string(i), 0, log_of({{1, 0.3}}));
  std::string svg = plot_curves(curves()).picture.elements;
  EXPECT_EQ(labels(svg), 9u);
  EXPECT_THAT(svg, Not(HasSubstr("labels do not fit")));
  for (int i = 9; i < 100; ++i) {
    write("system" + std::to_string(i), 0, log_of({{1 + i / 10.0, 0.3}}));
  }
  folder_.write("Slow/results/only/bert/result_0.txt", log_of({{5, 0.3}}));
  svg = plot_curves(curves()).picture.elements;
  EXPECT_GT(labels(svg), 30u);
  EXPECT_LT(labels(svg), 60u);
  EXPECT_EQ(occurrences(svg, fmt::format(">{} more labels do not fit<", 101 - labels(svg))), 1u)
      << svg;
  EXPECT_EQ(occurrences(svg, ">Slow only<"), 1u) << "the fastest of its submitter";
  EXPECT_EQ(occurrences(svg, ">Acme system99, "), 1u) << "far from others";
}

TEST_F(Plots, SubmittersHaveTheirOwnColoursIfThereAreEnough) {
  for (int i = 0; i < 9; ++i) {
    for (const char* system : {"one", "two"}) {
      folder_.write(fmt::format("S{}/results/{}/bert/result_0.txt", i, system),
                    log_of({{1 + i, 0.3}}));
    }
  }
  for (const std::string& svg :
       {plot_curves(curves()).picture.elements, plot_scores(scores()).picture.elements}) {
    for (int i = 0; i < 9; ++i) {
      for (const char* system : {"one", "two"}) {
        EXPECT_EQ(colour_of(svg, fmt::format("S{} {}", i, system)),
                  i < 7 ? fmt::format("c{}", i) : "grey");
      }
    }
  }
}

TEST_F(Plots, TheTargetIsReadFromLogsOrElseMlperfs) {
  const std::string event = BertLog::line({"quality_target", "0.33", "", 1});
  write("small", 0, event + log_of({{1, 0.3}}));
  EXPECT_THAT(plot_curves(curves()).picture.elements, HasSubstr(">target 0.33<"));
  EXPECT_THAT(plot_curves(curves(), {.target = 0.5}).picture.elements, HasSubstr(">target 0.5<"));
  write("small", 1, log_of({{1, 0.3}}));
  EXPECT_THAT(plot_curves(curves()).picture.elements, Not(HasSubstr(">target")));
  write("small", 0, log_of({{1, 0.3}}));
  EXPECT_THAT(plot_curves(curves()).picture.elements, HasSubstr(">target 0.72<"));
}

TEST_F(Plots, TheRangeNearTheTargetIsStretchedAndLabelled) {
  write("small", 0, log_of({{1, 0.1}, {2, 0.5}, {3, 0.65}, {4, 0.703}, {5, 0.71}, {6, 0.722}}));
  const std::string svg = plot_curves(curves()).picture.elements;
  EXPECT_EQ(occurrences(svg, ">stretched 41 x<"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, ">0.7<"), 1u) << "a tick\n" << svg;
  const std::string band = elements_of(svg, "band").at(0);
  EXPECT_NE(band.find("height=\"240.0\""), band.npos) << "60 % of 400: " << band;
}

TEST_F(Plots, TheRoundIsReadFromThePath) {
  folder_.write("v2.0/Acme/results/small/bert/result_0.txt", log_of({{1, 0.3}}));
  EXPECT_EQ(curves()[0].round, "2.0.0");
  EXPECT_THAT(plot_curves(curves()).picture.elements,
              HasSubstr(">bert, MLPerf Training v2.0, accuracy over time: 1 system, 1 run<"));
}

TEST_F(Plots, FarLongerRunsAreDrawnOnALogarithmicAxis) {
  using Ticks = std::vector<std::string>;
  const auto ticks = [&] { return ticks_of(plot_curves(curves()).picture.elements); };
  write("big", 0, log_of({{1, 0.3}}));
  write("small", 0, log_of({{19, 0.3}}));
  EXPECT_EQ(ticks(), (Ticks{"0", "2", "4", "6", "8", "10", "12", "14", "16", "18"}));
  write("small", 1, log_of({{21, 0.3}}));
  EXPECT_EQ(ticks(), (Ticks{"1", "2", "5", "10", "20"}));
  write("small", 2, log_of({{0, 0.2}, {1, 0.3}}));
  EXPECT_EQ(ticks().front(), "0") << "nothing is drawn at zero on a logarithmic axis";
}

// The runs are too many, too equal or too few for axes, labels and medians.
TEST_F(Plots, UnusualRunsAreDrawn) {
  const auto drawn = [&] { return plot_curves(curves()).drawn; };
  write("once", 0, log_of({{1, 0.3}}));
  EXPECT_EQ(elements_of(plot_curves(curves()).picture.elements, "dot").size(), 1u)
      << "one evaluation is a point";
  for (int i = 0; i < 12; ++i) write("equal" + std::to_string(i), 0, log_of({{1, 0.3}}));
  EXPECT_EQ(drawn(), 13u);
  write("at_start", 0, log_of({{0, 0.3}}));
  write("before", 0, log_of({{-1, 0.3}, {0, 0.3}}));
  write("same", 0, log_of({{2, 0.72}, {2, 0.72}, {2, 0.72}}));
  EXPECT_EQ(drawn(), 16u);
}

TEST_F(Plots, RunsThatCannotBeDrawnAreReported) {
  write("small", 0, "nothing of interest\n");
  EXPECT_THAT(error_of([&] { plot_curves(curves()); }),
              HasSubstr("result_0.txt: without evaluations"));
  EXPECT_THAT(error_of([&] { plot_scores(scores()); }), HasSubstr("nothing to plot"));
  write("small", 0, log_of({{1, 0.3}}));
  std::vector<Curve> runs = curves();
  runs.push_back(runs[0]);
  runs[1].benchmark = "ssd";
  EXPECT_THAT(error_of([&] { plot_curves(runs); }), HasSubstr("(bert, ssd)"));
  runs.pop_back();
  for (Evaluation& evaluation : runs[0].evaluations) evaluation.samples.reset();
  EXPECT_THAT(error_of([&] { plot_curves(runs, {.axis = CurveAxis::kSamples}); }),
              HasSubstr("without sample counts"));
  BertLog boxes = BertLog::passing();
  boxes.at("eval_accuracy").value = R"({"BBOX": 0.3})";
  write("other", 0, boxes.text());
  const Plot plot = plot_curves(curves());
  EXPECT_EQ(plot.drawn, 1u);
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_THAT(plot.left_out[0], HasSubstr("that is not a number"));
}

TEST_F(Plots, LogsOfAFolderAreLeftOutTogether) {
  write("small", 0, log_of({{1, 0.3}}));
  for (const int i : {0, 1, 2}) write("none", i, log_of({}));
  const Plot plot = plot_curves(curves());
  ASSERT_EQ(plot.left_out.size(), 1u);
  EXPECT_THAT(plot.left_out[0], HasSubstr("none/bert: 3 logs: without evaluations"));
}

TEST_F(Plots, ScoresAreSortedByTimeToTrain) {
  write("slow", 0, log_of({{9, 0.3}}));
  write("fast", 0, log_of({{3, 0.3}}));
  write("never", 0, log_of({}, false));
  write("at_once", 0, log_of({{-1, 0.3}}));
  const Plot plot = plot_scores(scores());
  const std::string& svg = plot.picture.elements;
  EXPECT_EQ(plot.drawn, 2u);
  EXPECT_EQ(plot.left_out.size(), 2u);
  // Minutes, and sequences per second of one of eight accelerators.
  size_t at = 0;
  for (const char* text :
       {">Acme fast, 8 X &amp; Y&#39;s &lt;Z&gt;, 1 of 10 runs<", ">4<", ">1.562<",
        ">Acme slow, 8 X &amp; Y&#39;s &lt;Z&gt;, 1 of 10 runs<", ">10<", ">1.875<"}) {
    const size_t found = svg.find(text, at);
    ASSERT_NE(found, svg.npos) << text << '\n' << svg;
    at = found;
  }
  EXPECT_EQ(elements_of(svg, "mark").size(), 3u) << "two scores and the key";
  EXPECT_THAT(svg, Not(HasSubstr("never")));
}

TEST_F(Plots, RunsAreDotsThatTellWhichOnesCount) {
  for (int i = 0; i < 10; ++i) write("ten", i, log_of({{9.0 + i, 0.3}}, i != 7));
  const std::vector<Score> all = scores();
  EXPECT_EQ(runs_in_mean(all[0]),
            std::vector<bool>({false, true, true, true, true, true, true, false, true, true}))
      << "the run that failed is the slowest one";
  const std::string svg = plot_scores(all).picture.elements;
  // Each kind has a key. The slowest counting run is drawn as the one that the mean drops.
  EXPECT_EQ(elements_of(svg, "dot").size(), 8u + 1 + 1) << "the last is the system's rate\n" << svg;
  EXPECT_EQ(elements_of(svg, "hollow").size(), 1u + 1) << svg;
  EXPECT_EQ(elements_of(svg, "cross").size(), 1u + 1) << svg;
  EXPECT_EQ(occurrences(svg, "result_0.txt: 10 min</title></circle>"), 1u) << svg;
  EXPECT_EQ(occurrences(svg, "result_7.txt: 17 min, does not count: "), 1u) << svg;
  for (const char* word :
       {">score<", ">run<", ">run that the olympic mean drops<", ">run that does not count<"}) {
    EXPECT_EQ(occurrences(svg, word), 1u) << word << '\n' << svg;
  }
}

TEST_F(Plots, ScoresFarApartHaveAPanelWithTheSpreadOfRuns) {
  const std::string title = ">runs against their mean, %<";
  for (const int i : {0, 1, 2}) write("fast", i, log_of({{i == 2 ? 7.0 : 0.9 + 0.1 * i, 0.3}}));
  write("slow", 0, log_of({{99, 0.3}}));
  const std::string svg = plot_scores(scores()).picture.elements;
  EXPECT_EQ(occurrences(svg, title), 1u) << svg;
  EXPECT_EQ(occurrences(svg, ">beyond 50 %: drawn at the edge<"), 1u) << svg;
  EXPECT_EQ(ticks_of(svg).front(), "2") << "a logarithmic axis\n" << svg;
  write("slow", 0, log_of({{9, 0.3}}));
  EXPECT_EQ(occurrences(plot_scores(scores()).picture.elements, title), 0u);
}

TEST_F(Plots, AScaledScoreSaysItsFactor) {
  write("scaled", 0, log_of({{9, 0.3}}));
  folder_.write("Acme/results/scaled/bert/scaling.json", R"({"scaling_factor": 1.25})");
  const std::string svg = plot_scores(scores()).picture.elements;
  EXPECT_EQ(occurrences(svg, ">12.5 (x 1.25)<"), 1u);
  EXPECT_EQ(occurrences(svg, "result_0.txt: 12.5 min<"), 1u) << "runs stand at their share of it";
}

TEST_F(Plots, HostileNamesAreEscapedAndShortened) {
  const std::string hostile[] = {"'; set output '/tmp/x",
                                 "\"`touch x`\"",
                                 "back\\slash\\n{/Bold x}",
                                 "<script>alert(1)</script>",
                                 "line\nbreak\ttab\x01",
                                 "not \xff UTF-8",
                                 std::string(3'000'000, '\x80'),
                                 std::string(3'000'000, 'x'),
                                 "]]><!-- &amp; %s %1$n",
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
    const drawing::Drawing picture = (of_scores ? plot_scores(all) : plot_curves(runs)).picture;
    EXPECT_LT(picture.elements.size(), 50'000u);
    EXPECT_LT(picture.height, 1500);
    const std::string& svg = picture.elements;
    EXPECT_THAT(svg, Not(HasSubstr("<script>")));
    EXPECT_THAT(svg, Not(HasSubstr("<!--")));
    for (const char* part : {"back\\slash\\n{/Bold x}", "&lt;script&gt;alert(1)&lt;/script&gt;",
                             "line break tab\uFFFD", "&quot;`touch x`&quot;", "&#39;; set output",
                             "]]&gt;&lt;!-- &amp;amp; %s"}) {
      EXPECT_THAT(svg, HasSubstr(part)) << part;
    }
  }
}

}  // namespace
}  // namespace strata::scoring

#include "scoring/plots/timeline_plot.h"

#include <fmt/format.h>

#include <span>
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

using drawing::Plot;
using testing_support::occurrences;

class TimelinePlot : public testing_support::TemporaryDirectory {
 protected:
  TimelineTrace read(const std::string& text) {
    write_file_atomically(path_, text);
    return read_timeline(path_);
  }
  std::string error_of(const std::string& text) {
    return testing_support::error_of([&] { read(text); });
  }
  static Plot plot_timeline(const TimelineTrace& trace, const std::vector<std::string>& within) {
    return scoring::plot_timeline(std::span(&trace, 1), within);
  }
  static std::string svg_of(const TimelineTrace& trace, const std::vector<std::string>& within) {
    return plot_timeline(trace, within).picture.elements;
  }
  // Returns the heights of the rows with this name.
  static std::vector<double> rows_of(const std::string& svg, const std::string& name) {
    std::vector<double> rows;
    const std::string end = "</title>" + name + "<";
    for (size_t at = svg.find(end); at != svg.npos; at = svg.find(end, at + 1)) {
      const size_t y = svg.rfind(" y=\"", at) + 4;
      rows.push_back(std::stod(svg.substr(y)));
    }
    return rows;
  }

  const std::filesystem::path path_ = directory_ / "timeline.json";
};

// Two ranks; the second step begins at 30 ms.
constexpr char kTrace[] = R"({"traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "rank 0"}},
  {"ph": "M", "name": "thread_name", "pid": 0, "tid": 1, "args": {"name": "compute"}},
  {"ph": "X", "name": "step 1", "pid": 0, "tid": 0, "ts": 10000, "dur": 20000},
  {"ph": "X", "name": "step 2", "pid": 0, "tid": 0, "ts": 30000, "dur": 10000},
  {"ph": "X", "name": "forward layer_0", "pid": 0, "tid": 1, "ts": 10000, "dur": 8000},
  {"ph": "X", "name": "backward layer_0", "pid": 0, "tid": 1, "ts": 18000, "dur": 14000},
  {"ph": "X", "name": "backward layer_11", "pid": 1, "tid": 1, "ts": 34000, "dur": 2000}
]})";

TEST_F(TimelinePlot, ReadsSpansAndNames) {
  const TimelineTrace trace = read(kTrace);
  ASSERT_EQ(trace.spans.size(), 5U);
  EXPECT_EQ(trace.spans[3].name, "backward layer_0");
  EXPECT_EQ(trace.spans[3].begin_ms, 18);
  EXPECT_EQ(trace.spans[3].end_ms, 32);
  EXPECT_EQ(trace.processes.at(0), "rank 0");
  EXPECT_EQ((trace.lanes.at({0, 1})), "compute");
  EXPECT_EQ(read(R"([{"ph": "X", "name": "a", "ts": 1, "dur": 2}])").spans.size(), 1U);
}

TEST_F(TimelinePlot, DrawsAllFromTheFirstSpan) {
  const Plot plot = plot_timeline(read(kTrace), {});
  EXPECT_EQ(plot.drawn, 5U);
  for (const char* text : {">rank 0, compute<", ">rank 0, lane 0<", ">process 1, lane 1<",
                           ">step 1<", ">layer_0<", ">forward<", ">other<", ">30<"}) {
    EXPECT_THAT(plot.picture.elements, HasSubstr(text)) << text;
  }
  EXPECT_THAT(plot.picture.elements, Not(HasSubstr(">35<"))) << "the last span ends at 30 ms";
  EXPECT_EQ(occurrences(plot.picture.elements, "<title>forward layer_0: 8 ms</title>"), 1U);
}

TEST_F(TimelinePlot, CutsAtTheChosenSpan) {
  const TimelineTrace trace = read(kTrace);
  const std::string step_2 = svg_of(trace, {"step 2"});
  EXPECT_THAT(step_2, Not(HasSubstr(">forward<")));
  // 900 units are 10 ms. The first span began before the panel and has 2 ms in it.
  EXPECT_EQ(occurrences(step_2, "width=\"180.0\" height=\"15\"><title>backward layer_0: 14 ms"), 1U)
      << step_2;
  EXPECT_EQ(plot_timeline(trace, {"step 2"}).drawn, 2U);
  const Plot both = plot_timeline(trace, {"step 1", "step 2"});
  EXPECT_EQ(both.drawn, 4U);
  EXPECT_EQ(occurrences(both.picture.elements,
                        "width=\"90.0\" height=\"15\"><title>backward layer_0: 14 ms"),
            1U)
      << "both panels have the scale of the longer one: 20 ms";
  EXPECT_GT(both.picture.height, plot_timeline(trace, {"step 1"}).picture.height);
}

TEST_F(TimelinePlot, EachLaneHasARowBelowTheOneBefore) {
  const TimelineTrace trace = read(kTrace);
  const std::string whole = svg_of(trace, {});
  const double first = rows_of(whole, "rank 0, lane 0").at(0);
  EXPECT_EQ(rows_of(whole, "rank 0, compute").at(0), first + 22);
  EXPECT_EQ(rows_of(whole, "process 1, lane 1").at(0), first + 44);
  const std::string both = svg_of(trace, {"step 1", "step 2"});
  EXPECT_EQ(rows_of(both, "rank 0, compute").size(), 2U);
  EXPECT_EQ(rows_of(both, "process 1, lane 1").size(), 1U);
  EXPECT_LT(both.find(">step 1<"), both.find(">step 2<"));
}

TEST_F(TimelinePlot, WritesNoTextIntoBoxesWithoutRoom) {
  // 1 ms has about one of 900 units, too few for a digit; 25 ms have room for just one.
  const TimelineTrace trace = read(R"([{"ph": "X", "name": "forward layer_7", "ts": 0, "dur": 1000},
      {"ph": "X", "name": "forward layer_8", "ts": 1000, "dur": 25000},
      {"ph": "X", "name": "forward layer_9", "ts": 26000, "dur": 974000}])");
  const std::string drawn = svg_of(trace, {});
  EXPECT_THAT(drawn, Not(HasSubstr(">7<")));
  EXPECT_THAT(drawn, HasSubstr(">8<"));
  EXPECT_THAT(drawn, HasSubstr(">layer_9<"));
}

TEST_F(TimelinePlot, RefusesOtherFiles) {
  EXPECT_THAT(error_of("{]"), HasSubstr("not a Chrome trace in JSON"));
  EXPECT_THAT(error_of(R"({"a": 1})"), HasSubstr("not a Chrome trace in JSON"));
  EXPECT_THAT(error_of(R"({"traceEvents": 7})"), HasSubstr("not a Chrome trace in JSON"));
  EXPECT_THAT(error_of("[]"), HasSubstr("has no spans"));
  EXPECT_THAT(error_of(R"([7])"), HasSubstr("event 0 is not a JSON object"));
  EXPECT_THAT(error_of(R"([{"ph": "X", "ts": 1}])"), HasSubstr("event 0 has no 'dur'"));
  EXPECT_THAT(error_of(R"([{"ph": "X", "ts": "1", "dur": 2}])"), HasSubstr("'ts' is not a time"));
  EXPECT_THAT(error_of(R"([{"ph": "X", "ts": 1, "dur": -2}])"), HasSubstr("'dur' is negative"));
  EXPECT_THAT(error_of(R"([{"ph": "X", "ts": 1, "dur": 1e999}])"), HasSubstr("timeline.json"));
  EXPECT_THAT(error_of(R"([{"ph": "X", "pid": 1e9, "ts": 1, "dur": 1}])"), HasSubstr("'pid'"));
}

TEST_F(TimelinePlot, NamesExistingSpansIfANameIsMissing) {
  const TimelineTrace trace = read(kTrace);
  try {
    plot_timeline(trace, {"step 7"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()),
                HasSubstr("'step 7'; the first lane has 'step 1', 'step 2'"))
        << error.what();
  }
}

TEST_F(TimelinePlot, RefusesATimelineWithoutLength) {
  EXPECT_THROW(plot_timeline(read(R"([{"ph": "X", "name": "a", "ts": 7, "dur": 0}])"), {}), Error);
  EXPECT_EQ(plot_timeline(read(R"([{"ph": "X", "ts": 7, "dur": 1}])"), {}).drawn, 1U)
      << "it has no name";
}

TEST_F(TimelinePlot, RefusesMoreThanCanBeSeen) {
  std::string lanes = "[";
  for (int i = 0; i < 501; ++i) {
    lanes += fmt::format(R"({}{{"ph": "X", "name": "a", "tid": {}, "ts": 1, "dur": 1}})",
                         i ? "," : "", i);
  }
  EXPECT_THROW(plot_timeline(read(lanes + "]"), {}), Error);
  std::string events = "[";
  for (int i = 0; i < 20001; ++i) {
    events += fmt::format(R"({}{{"ph": "X", "name": "a", "ts": {}, "dur": 1}})", i ? "," : "", i);
  }
  EXPECT_THROW(plot_timeline(read(events + "]"), {}), Error);
}

// A measured and a simulated step, for example.
TEST_F(TimelinePlot, SeveralFilesStandBelowEachOther) {
  const TimelineTrace measured = read(kTrace);
  TimelineTrace other = read(R"([{"ph": "X", "name": "simulated step", "ts": 0, "dur": 10000},
                                 {"ph": "X", "name": "clip 0", "tid": 3, "ts": 5, "dur": 10}])");
  other.name = "simulated.json";
  const std::vector<TimelineTrace> traces = {measured, other};
  const std::string svg = scoring::plot_timeline(traces, {}).picture.elements;
  EXPECT_THAT(svg, HasSubstr(">simulated.json<"));
  EXPECT_THAT(svg, HasSubstr(">timeline.json<"));
  const Plot steps = scoring::plot_timeline(traces, {"step 2", "simulated step"});
  EXPECT_EQ(steps.drawn, 2U + 1U);
  EXPECT_THAT(testing_support::error_of([&] { scoring::plot_timeline(traces, {"step 7"}); }),
              HasSubstr("'simulated step'"));
}

}  // namespace
}  // namespace strata::scoring

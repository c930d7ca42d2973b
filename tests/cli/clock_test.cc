// Tests what happens before and after the clock starts.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/files/files.h"
#include "tests/cli/small_benchmark.h"
#include "tests/support/matchers.h"

namespace strata::cli {
namespace {

#ifdef STRATA_FILE_TRACE

struct TraceLine {
  std::string what, of;
};

class TheClock : public SmallBenchmark, public testing::WithParamInterface<int> {
 protected:
  // Returns a run's operations on the files of data/, and the events that it logged, in order.
  std::vector<TraceLine> trace_of_a_run(int ranks) {
    const ProcessResult result = strata(train(), ranks,
                                        {.environment = {{"LD_PRELOAD", STRATA_FILE_TRACE},
                                                         {"STRATA_TRACE", path("trace")},
                                                         {"STRATA_TRACE_FOLDER", path("data/")}}});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    std::vector<TraceLine> lines;
    std::istringstream trace(read_file(path("trace")));
    for (TraceLine line; trace >> line.what >> line.of;) lines.push_back(line);
    return lines;
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, TheClock, testing::Values(1, 2));

// Before run_start files may only be opened to remove them from the page cache.
TEST_P(TheClock, StartsBeforeAnyDataIsRead) {
  const std::vector<TraceLine> lines = trace_of_a_run(GetParam());
  const auto run_start = std::ranges::find_if(
      lines, [](const TraceLine& line) { return line.what == "event" && line.of == "run_start"; });
  ASSERT_NE(run_start, lines.end());
  int opened = 0, dropped = 0;
  for (auto line = lines.begin(); line != run_start; ++line) {
    EXPECT_NE(line->what, "read") << line->of << " before run_start";
    EXPECT_NE(line->what, "map") << line->of << " before run_start";
    opened += line->what == "open";
    dropped += line->what == "drop";
  }
  EXPECT_EQ(opened, dropped) << "opened to be dropped alone";
  EXPECT_EQ(dropped, 4) << "two files and their indexes, by the first rank of the node";
  // The trace sees the later reads.
  std::set<std::string> looked_at;
  for (auto line = run_start; line != lines.end(); ++line) {
    if (line->what == "read" || line->what == "map") looked_at.insert(line->of);
  }
  EXPECT_EQ(looked_at,
            (std::set<std::string>{path("data/train.hdf5"), path("data/train.hdf5.index"),
                                   path("data/eval.hdf5"), path("data/eval.hdf5.index")}));
}

using WallClock = SmallBenchmark;

TEST_F(WallClock, IsReportedButChangesNoTimesIfItIsSet) {
  const ProcessResult result = strata(
      train(), 1,
      {.environment = {{"LD_PRELOAD", STRATA_FILE_TRACE}, {"STRATA_TRACE_CLOCK_SET", "-3600"}}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the machine's clock was changed by -3600."));
  const std::vector<Event> log = events();
  for (size_t i = 1; i < log.size(); ++i) {
    EXPECT_LE(log[i - 1]["time_ms"], log[i]["time_ms"]) << log[i];
  }
  EXPECT_LT(log.back()["time_ms"].get<int64_t>() - log.front()["time_ms"].get<int64_t>(), 600'000);
}

TEST_F(WallClock, DifferenceFromTheSteadyClockIsReported) {
  const ProcessResult result =
      strata(train(), 1,
             {.environment = {{"LD_PRELOAD", STRATA_FILE_TRACE}, {"STRATA_TRACE_SLOW", "400000"}}});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("warning: from run_start to run_stop the log shows "));
  EXPECT_THAT(result.err, HasSubstr(" s, but the run measured "));
}

#endif

}  // namespace
}  // namespace strata::cli

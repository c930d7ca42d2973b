// Tests `strata export`. A small reader and TensorBoard's own read the event files, Python's csv
// module the tables.

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files/files.h"
#include "tests/cli/tools.h"
#include "tests/support/matchers.h"
#include "tests/support/oracle.h"

namespace strata::cli {
namespace {

using nlohmann::json;
using testing_support::run_command;

constexpr double kTime = 1.7e12;

std::string line(const std::string& key, const std::string& value, const std::string& metadata,
                 double after_ms) {
  return ":::MLLOG {\"namespace\": \"\", \"time_ms\": " + std::to_string(kTime + after_ms) +
         ", \"event_type\": \"POINT_IN_TIME\", \"key\": \"" + key + "\", \"value\": " + value +
         ", \"metadata\": {" + metadata + "}}\n";
}

class Export : public Tools {
 protected:
  Export() {
    folder_.write(
        "Bolt/results/x/gpt3/result_0.txt",
        line("global_batch_size", "8", "", 0) + line("run_start", "null", "", 1) +
            line("eval_accuracy", "0.25", "\"samples_count\": 100, \"epoch_num\": 1", 1000) +
            line("eval_accuracy", "1e300", "\"samples_count\": 150", 1500) +
            line("eval_accuracy", "\"high\"", "\"samples_count\": 160", 1600) +
            line("eval_accuracy", "0.5", "\"samples_count\": 200", 2000) +
            line("tracked_stats", "{\"throughput\": 7.5, \"name\": \"x\"}", "\"step_num\": 3",
                 2500) +
            line("loss\\n\xff", "-1", "\"epoch_num\": 0.5", 2600) +
            line("loss\\n\xff", "-2", "", 2700) + line("flag", "true", "", 2750) +
            line("run_stop", "null", "\"status\": \"success\"", 3000) +
            line("eval_accuracy", "0.75", "", 4000));
  }
  json read(const std::string& python, const std::string& option = "") {
    const auto printed = run_command(python + " " STRATA_SOURCE_DIR "/tests/support/tfevents.py '" +
                                     path("out") + "' " + option + " 2>/dev/null");
    EXPECT_EQ(printed.status, 0) << printed.output;
    return json::parse(printed.output);
  }
};

TEST_F(Export, HasEveryNumberOfTheRun) {
  const ProcessResult exported =
      strata({"export", "tensorboard", path("Bolt"), path("Acme"), "-o", path("out")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const json runs = read("/usr/bin/python3");
  ASSERT_EQ(runs.size(), 2u) << runs;
  const double s = kTime / 1000;
  EXPECT_EQ(runs.at("Bolt/results/x/gpt3/result_0"),
            json({{"eval_accuracy", {{s + 1, 100, 0.25}, {s + 2, 200, 0.5}}},
                  {"tracked_stats/throughput", {{s + 2.5, 3, 7.5}}},
                  {"loss\n\u00ff", {{s + 2.6, 0, -1.0}, {s + 2.7, 1, -2.0}}}}));
  EXPECT_FALSE(runs.at("Acme/results/good/bert/result_0").at("eval_accuracy").empty());
}

TEST_F(Export, TensorBoardReadsTheSameValues) {
  const char* python = std::getenv("STRATA_TENSORBOARD_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "STRATA_TENSORBOARD_PYTHON names no Python with tensorboard";
  }
  ASSERT_EQ(
      strata({"export", "tensorboard", path("Bolt"), path("Acme"), "-o", path("out")}).exit_code,
      0);
  EXPECT_EQ(read(python, "--tensorboard"), read("/usr/bin/python3"));
}

TEST_F(Export, NamesSkippedFilesAndReplacesAnEarlierExport) {
  const std::string log = path("Bolt/results/x/gpt3/result_0.txt");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(strata({"export", "tensorboard", log, "-o", path("out")}).exit_code, 0);
    EXPECT_EQ(read("/usr/bin/python3").size(), 1u);
  }
  const std::string empty = folder_.write("empty.txt", "").string();
  const ProcessResult rest =
      strata({"export", "tensorboard", log, empty, path("absent"), "-o", path("out")});
  EXPECT_EQ(rest.exit_code, 2);
  EXPECT_THAT(rest.out, HasSubstr("no numbers in " + empty));
  EXPECT_THAT(rest.err, HasSubstr("absent"));
  const ProcessResult same =
      strata({"export", "tensorboard", log, path("Acme/results/good/bert/result_0.txt"), "-o",
              path("out")});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("would both be exported as result_0"));
}

// Compares every field of the table with Python's reading of the lines.
TEST_F(Export, ATableHasEveryEvent) {
  const ProcessResult exported =
      strata({"export", "csv", path("Bolt"), path("Acme"), "-o", path("events.csv")});
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  const std::string script = folder_
                                 .write("compare.py", R"py(
import csv, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
rows, logs = 0, set()
for row in csv.DictReader(open(folder / "events.csv", newline="", encoding="utf-8")):
    data = (folder / (row["log"] + ".txt")).read_bytes()[int(row["offset"]):]
    text = data.split(b"\n", 1)[0].decode("latin-1").removeprefix(":::MLLOG ")
    event = json.loads(text)
    assert row["key"] == event["key"] and row["event_type"] == event["event_type"], row
    assert float(row["time_ms"]) == event["time_ms"], row
    assert json.loads(row["value"]) == event["value"], row
    assert json.loads(row["metadata"]) == event["metadata"], row
    rows += 1
    logs.add(row["log"])
lines = sum((folder / (log + ".txt")).read_bytes().count(b":::MLLOG") for log in logs)
print(rows == lines and len(logs) > 1)
)py")
                                 .string();
  const auto compared = run_command("/usr/bin/python3 '" + script + "' '" + path(".") + "'");
  EXPECT_EQ(compared.status, 0) << compared.output;
  EXPECT_EQ(compared.output, "True\n");
}

TEST_F(Export, UnreadableLogsAreNamedAndTheTableHasTheRest) {
  const ProcessResult exported = strata({"export", "csv", path("Bolt/results/x/gpt3/result_0.txt"),
                                         path("absent.txt"), "-o", "/dev/stdout"});
  EXPECT_EQ(exported.exit_code, 2);
  EXPECT_THAT(exported.err, HasSubstr("absent.txt"));
  EXPECT_EQ(std::count(exported.out.begin(), exported.out.end(), '\n'), 15)
      << "a header, twelve events, and the newlines in the keys of two: " << exported.out;
}

}  // namespace
}  // namespace strata::cli

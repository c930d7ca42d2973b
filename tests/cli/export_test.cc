// `strata export tensorboard`, read by a reader of a few lines and by TensorBoard's own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/cli/tools.h"
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

TEST_F(Export, TensorBoardReadsTheSame) {
  const char* python = std::getenv("STRATA_TENSORBOARD_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "STRATA_TENSORBOARD_PYTHON names no Python with tensorboard";
  }
  ASSERT_EQ(
      strata({"export", "tensorboard", path("Bolt"), path("Acme"), "-o", path("out")}).exit_code,
      0);
  EXPECT_EQ(read(python, "--tensorboard"), read("/usr/bin/python3"));
}

TEST_F(Export, SaysWhatIsLeftOutAndReplacesAnEarlierExport) {
  const std::string log = path("Bolt/results/x/gpt3/result_0.txt");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(strata({"export", "tensorboard", log, "-o", path("out")}).exit_code, 0);
    EXPECT_EQ(read("/usr/bin/python3").size(), 1u);
  }
  const std::string empty = folder_.write("empty.txt", "").string();
  const ProcessResult rest =
      strata({"export", "tensorboard", log, empty, path("absent"), "-o", path("out")});
  EXPECT_EQ(rest.exit_code, 2);
  EXPECT_NE(rest.out.find("no numbers in " + empty), std::string::npos) << rest.out;
  EXPECT_NE(rest.err.find("absent"), std::string::npos) << rest.err;
  const ProcessResult same =
      strata({"export", "tensorboard", log, path("Acme/results/good/bert/result_0.txt"), "-o",
              path("out")});
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_NE(same.err.find("would both be result_0"), std::string::npos) << same.err;
}

}  // namespace
}  // namespace strata::cli

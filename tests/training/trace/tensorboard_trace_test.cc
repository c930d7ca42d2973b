#include "training/trace/tensorboard_trace.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/oracle.h"
#include "tests/support/temporary_directory.h"

namespace strata::training {
namespace {

using nlohmann::json;

class TensorBoardTraceTest : public testing_support::TemporaryDirectory {
 protected:
  // Returns {tag: [[time, step, value], ...]}.
  json read(const std::string& python, const std::string& option = "") {
    const auto printed = testing_support::run_command(
        "(" + python + " " STRATA_SOURCE_DIR "/tests/support/tfevents.py '" + directory_.string() +
        "' " + option + " 2>/dev/null)");
    EXPECT_EQ(printed.status, 0) << printed.output;
    const json runs = json::parse(printed.output, nullptr, false);
    EXPECT_EQ(runs.size(), 1u) << printed.output;
    return runs.is_object() && runs.contains("run") ? runs["run"] : json();
  }
  // Writes steps 1 to 4, whose last two are lost, and resumes after the second.
  void write_resumed_run() {
    TensorBoardTrace first(directory_ / "run");
    for (int64_t number = 1; number <= 4; ++number) first.add(step(number, 10.0));
    first.add_evaluation(2, 0.25);
    first.add_evaluation(4, 0.5);
    TensorBoardTrace second(directory_ / "run", true);
    second.resume_after(2);
    second.add(step(3, 20.0));
    second.add_evaluation(3, 0.75);
    second.finish();
  }
  static StepResult step(int64_t number, double loss_sum) {
    StepResult result;
    result.step = number;
    result.losses = bert::Losses{{loss_sum, 2, 8}, {3.0, 1, 4}};
    result.learning_rate = 0.125;
    result.imbalance = 1.25;
    result.seconds = 0.5;
    return result;
  }
  // Returns the points without their times.
  static json points(const json& tags, const std::string& tag) {
    json found = json::array();
    for (const json& point : tags.value(tag, json::array())) found.push_back({point[1], point[2]});
    return found;
  }
  static void expect_the_resumed_run(const json& tags) {
    EXPECT_EQ(points(tags, "training/masked_lm_loss"), json({{1, 1.25}, {2, 1.25}, {3, 2.5}}));
    EXPECT_EQ(points(tags, "evaluation/masked_lm_accuracy"), json({{2, 0.25}, {3, 0.75}}));
    EXPECT_EQ(points(tags, "training/learning_rate"), json({{1, 0.125}, {2, 0.125}, {3, 0.125}}));
    EXPECT_EQ(points(tags, "step/imbalance"), json({{1, 1.25}, {2, 1.25}, {3, 1.25}}));
  }
};

TEST_F(TensorBoardTraceTest, HasStepsAndEvaluationsDuringTheRun) {
  TensorBoardTrace trace(directory_ / "run");
  StepResult result = step(7, 10.0);
  result.gradient_norm = 2.5;
  trace.add(result);
  trace.add_evaluation(7, 0.375);
  const json tags = read("/usr/bin/python3");
  EXPECT_EQ(points(tags, "training/masked_lm_loss"), json({{7, 1.25}}));
  EXPECT_EQ(points(tags, "training/masked_lm_accuracy"), json({{7, 0.25}}));
  EXPECT_EQ(points(tags, "training/gradient_norm"), json({{7, 2.5}}));
  EXPECT_EQ(points(tags, "step/seconds"), json({{7, 0.5}}));
  EXPECT_EQ(points(tags, "evaluation/masked_lm_accuracy"), json({{7, 0.375}}));
  EXPECT_FALSE(tags.contains("training/loss_scale")) << "there is none";
}

TEST_F(TensorBoardTraceTest, AResumedRunContinuesInANewFile) {
  write_resumed_run();
  expect_the_resumed_run(read("/usr/bin/python3"));
}

TEST_F(TensorBoardTraceTest, TensorBoardReadsTheSameValues) {
  const char* python = std::getenv("STRATA_TENSORBOARD_PYTHON");
  if (python == nullptr) {
    GTEST_SKIP() << "STRATA_TENSORBOARD_PYTHON names no Python with tensorboard";
  }
  write_resumed_run();
  expect_the_resumed_run(read(python, "--tensorboard"));
}

TEST_F(TensorBoardTraceTest, WithoutAFolderNothingIsWritten) {
  TensorBoardTrace trace("");
  trace.add(step(1, 1.0));
  trace.finish();
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(TensorBoardTraceTest, AnUnwritablePathIsRefused) {
  write_file_atomically(directory_ / "file", "");
  EXPECT_THROW(TensorBoardTrace(directory_ / "file" / "run"), Error);
}

}  // namespace
}  // namespace strata::training

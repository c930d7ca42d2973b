#include "training/trace/step_trace.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files/files.h"
#include "tests/support/temporary_directory.h"

namespace strata::training {
namespace {

class StepTraceTest : public testing_support::TemporaryDirectory {};

StepResult a_step() {
  StepResult step;
  step.step = 3;
  step.losses = bert::Losses{{12.0, 2, 8}, {3.0, 1, 4}};
  step.learning_rate = 5e-4;
  step.tokens = 33;  // one rank's tokens, which no trace shows
  step.global_tokens = 99;
  step.imbalance = 1.25;
  step.seconds = 0.5;
  return step;
}

TEST_F(StepTraceTest, IsOneJsonLineAStep) {
  StepTrace trace(directory_ / "steps.jsonl");
  StepResult step = a_step();
  trace.add(step);
  step.gradient_norm = 2.5;
  step.losses.reset();
  trace.add(step);
  step = a_step();
  step.losses->standardization = {3.0, 0, 12};
  trace.add(step);
  trace.finish();
  std::istringstream lines(read_file(directory_ / "steps.jsonl"));
  std::string first, second, third, fourth;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second) &&
              std::getline(lines, third));
  EXPECT_FALSE(std::getline(lines, fourth));
  EXPECT_EQ(nlohmann::json::parse(third)["standardization_loss"], 0.25);
  const auto json = nlohmann::json::parse(first);
  EXPECT_EQ(json["step"], 3);
  EXPECT_EQ(json["masked_lm_loss"], 1.5);
  EXPECT_EQ(json["next_sentence_loss"], 0.75);
  EXPECT_EQ(json["masked_lm_accuracy"], 0.25);
  EXPECT_EQ(json["learning_rate"], 5e-4);
  EXPECT_EQ(json["tokens"], 99);
  EXPECT_EQ(json["imbalance"], 1.25);
  EXPECT_EQ(json["seconds"], 0.5);
  EXPECT_FALSE(json.contains("gradient_norm")) << "none was computed";
  EXPECT_FALSE(json.contains("dropped_layers")) << "layers are not dropped";
  EXPECT_FALSE(json.contains("standardization_loss")) << "there is none";
  const auto without_losses = nlohmann::json::parse(second);
  EXPECT_EQ(without_losses["gradient_norm"], 2.5);
  EXPECT_EQ(without_losses["seconds"], 0.5);
  EXPECT_FALSE(without_losses.contains("masked_lm_loss"));
}

TEST_F(StepTraceTest, HasTimesOfCommunicationIfTheyWereMeasured) {
  StepTrace trace(directory_ / "steps.jsonl");
  StepResult step = a_step();
  trace.add(step);
  step.reduce.measured = true;  // a single rank: there is no communication
  step.reduce.update_seconds = 0.25;
  trace.add(step);
  trace.finish();
  std::istringstream lines(read_file(directory_ / "steps.jsonl"));
  std::string first, second;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second));
  const auto without = nlohmann::json::parse(first), with = nlohmann::json::parse(second);
  for (const char* time :
       {"communication_seconds", "exposed_communication_seconds", "update_seconds"}) {
    EXPECT_FALSE(without.contains(time)) << time;
  }
  EXPECT_EQ(with["communication_seconds"], 0);
  EXPECT_EQ(with["exposed_communication_seconds"], 0);
  EXPECT_EQ(with["update_seconds"], 0.25);
}

TEST_F(StepTraceTest, HasTheLossScaleIfThereIsOne) {
  StepTrace trace(directory_ / "steps.jsonl");
  StepResult step = a_step();
  trace.add(step);
  step.loss_scale = 32768.0f;
  step.skipped = true;
  trace.add(step);
  trace.finish();
  std::istringstream lines(read_file(directory_ / "steps.jsonl"));
  std::string first, second;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second));
  EXPECT_FALSE(nlohmann::json::parse(first).contains("loss_scale"));
  EXPECT_FALSE(nlohmann::json::parse(first).contains("skipped"));
  EXPECT_EQ(nlohmann::json::parse(second)["loss_scale"], 32768);
  EXPECT_EQ(nlohmann::json::parse(second)["skipped"], true);
}

TEST_F(StepTraceTest, NamesTheLayersThatAStepDropped) {
  StepTrace trace(directory_ / "steps.jsonl");
  StepResult step = a_step();
  step.dropped_layers = std::vector<int64_t>{1, 3};
  trace.add(step);
  step.dropped_layers->clear();
  trace.add(step);
  trace.finish();
  std::istringstream lines(read_file(directory_ / "steps.jsonl"));
  std::string first, second;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second));
  EXPECT_EQ(nlohmann::json::parse(first)["dropped_layers"].dump(), "[1,3]");
  EXPECT_EQ(nlohmann::json::parse(second)["dropped_layers"].dump(), "[]");
}

TEST_F(StepTraceTest, EveryLineIsThereAtOnce) {
  StepTrace trace(directory_ / "steps.jsonl");
  trace.add(a_step());
  EXPECT_EQ(read_file(directory_ / "steps.jsonl").back(), '\n');
}

TEST_F(StepTraceTest, WithoutAPathNothingIsWritten) {
  StepTrace trace("");
  trace.add(a_step());
  EXPECT_NO_THROW(trace.finish());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(StepTraceTest, APlaceThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(StepTrace(directory_ / "missing" / "steps.jsonl"), Error);
}

TEST_F(StepTraceTest, AFullDiskIsReportedAtTheEnd) {
  StepTrace trace("/dev/full");
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(trace.add(a_step())) << "a trace is no reason to end a run";
  EXPECT_NO_THROW(trace.finish());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "\nstrata: /dev/full: step 3 is missing: No space left on device\n");
}

TEST_F(StepTraceTest, ALinkInItsPlaceIsNotFollowed) {
  write_file_atomically(directory_ / "mine", "mine");
  std::filesystem::create_symlink("mine", directory_ / "steps.jsonl");
  EXPECT_THROW(StepTrace(directory_ / "steps.jsonl"), Error);
  StepTrace resumed(directory_ / "steps.jsonl", true);
  EXPECT_THROW(resumed.resume_after(1), Error);
  EXPECT_EQ(read_file(directory_ / "mine"), "mine");
}

}  // namespace
}  // namespace strata::training

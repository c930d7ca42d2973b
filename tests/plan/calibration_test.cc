#include "plan/calibration.h"

#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using testing_support::error_of;

// Returns a step of a machine that takes 3 ms for a sample and 20 for a step. Every further
// micro-batch repeats half of the latter, and several nodes add 5 ms.
MeasuredStep step_of(int64_t ranks, int64_t nodes, double batch, int64_t micro_batches = 1) {
  MeasuredStep step{.name = "made",
                    .ranks = ranks,
                    .nodes = nodes,
                    .batch = batch,
                    .micro_batches = micro_batches};
  step.seconds = 3e-3 * step.samples_per_rank() +
                 20e-3 * (1 + 0.5 * static_cast<double>(micro_batches - 1)) +
                 (nodes > 1 ? 5e-3 : 0);
  return step;
}

TEST(Calibration, TellsTheThreeCostsApart) {
  const std::vector<MeasuredStep> steps = {step_of(8, 1, 448, 2), step_of(64, 8, 3072),
                                           step_of(4320, 540, 12960)};
  const Calibration calibration = calibrate(steps);
  EXPECT_NEAR(calibration.costs.per_sample, 3e-3, 1e-9);
  EXPECT_NEAR(calibration.costs.per_step, 20e-3, 1e-9);
  EXPECT_NEAR(calibration.costs.between_nodes, 5e-3, 1e-9);
  EXPECT_EQ(calibration.costs.repeated, 0.5);
  EXPECT_EQ(calibration.ranks_per_node, 8);
  for (const double residual : calibration.residuals) EXPECT_NEAR(residual, 0, 1e-9);
}

TEST(Calibration, AnEvaluationsSamplesCountAThird) {
  // 10 steps of 4 samples and 20 ms, then 10,000 / 3 samples on 100 ranks with 3 ms each, and 20
  // ms.
  std::vector<MeasuredStep> steps = {step_of(100, 1, 400), step_of(100, 1, 4000)};
  for (MeasuredStep& step : steps) {
    step.steps_per_evaluation = 10;
    step.seconds += (100.0 / 3 * 3e-3 + 20e-3) / 10;
  }
  const Calibration calibration = calibrate(steps);
  EXPECT_NEAR(calibration.costs.per_sample, 3e-3, 1e-9);
  EXPECT_NEAR(calibration.costs.per_step, 20e-3, 1e-9);
  EXPECT_NEAR(evaluation_seconds(calibration, 100), 0.12, 1e-9);

  for (MeasuredStep& step : steps) {
    step.seconds += (0.5 - 0.12) / 10;
    step.evaluation_seconds = 0.5;
  }
  EXPECT_NEAR(evaluation_seconds(calibrate(steps), 100), 0.5, 1e-9) << "as measured";
}

TEST(Calibration, ImbalanceIsPartOfWhatASampleTakes) {
  std::vector<MeasuredStep> steps = {step_of(8, 1, 80), step_of(8, 1, 800)};
  for (MeasuredStep& step : steps) {
    step.seconds += 0.5 * 3e-3 * step.samples_per_rank();
    step.imbalance = 1.5;
  }
  EXPECT_NEAR(calibrate(steps).costs.per_sample, 3e-3, 1e-9);
}

TEST(Calibration, EqualMicroBatchesArePartOfASamplesTime) {
  // Two samples per micro-batch: 3 + 10 / 2 ms per sample, 10 per step.
  const std::vector<MeasuredStep> steps = {step_of(8, 1, 160, 10), step_of(8, 1, 320, 20)};
  const Calibration calibration = calibrate(steps);
  EXPECT_EQ(calibration.costs.repeated, 0);
  EXPECT_NEAR(calibration.costs.per_sample, 8e-3, 1e-9);
  EXPECT_NEAR(calibration.costs.per_step, 10e-3, 1e-9);
}

TEST(Calibration, OneBatchSizeIsRefusedWithTheReason) {
  for (const auto& steps :
       {std::vector{step_of(8, 1, 448)}, std::vector{step_of(8, 1, 448), step_of(64, 8, 3584)}}) {
    const std::string error = error_of([&] { calibrate(steps); });
    EXPECT_THAT(error, HasSubstr("cannot tell time a sample from time a step"));
    EXPECT_THAT(error, HasSubstr("made"));
    EXPECT_THAT(error, HasSubstr("56 samples a rank"));
  }
  EXPECT_NE(error_of([] { calibrate({}); }), "");
}

TEST(Calibration, StepsThatAreNoneOrGetFasterWithMoreSamplesAreRefused) {
  std::vector<MeasuredStep> steps = {step_of(8, 1, 80), step_of(8, 1, 800)};
  steps[0].seconds = 0;
  EXPECT_THAT(error_of([&] { calibrate(steps); }), HasSubstr("0 s a step"));
  steps[0].seconds = 1e6;
  EXPECT_THAT(error_of([&] { calibrate(steps); }), HasSubstr("do not take longer"));
}

TEST(Calibration, ResidualsMakeTheError) {
  std::vector<MeasuredStep> steps = {step_of(8, 1, 80), step_of(8, 1, 240), step_of(8, 1, 800)};
  EXPECT_EQ(calibrate(steps).step_error, 0.02) << "as published series were off";
  steps[1].seconds *= 1.3;
  const Calibration calibration = calibrate(steps);
  double squares = 0;
  for (const double residual : calibration.residuals) squares += residual * residual;
  EXPECT_NEAR(calibration.step_error * calibration.step_error, squares, 1e-12)
      << "three steps, two costs";
  EXPECT_EQ(calibration.step_error_ground, "residuals of the fit");
}

}  // namespace
}  // namespace strata::plan

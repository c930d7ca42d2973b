#include "plan/calibration.h"

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

using testing_support::error_of;

// Returns a step of a machine that takes 3 ms for a sample and 20 for a step. Every further
// micro-batch repeats half of the time per step, and several nodes add 5 ms.
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

TEST(Calibration, EvaluatedSamplesCountAsAThird) {
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
    EXPECT_THAT(error, HasSubstr("cannot separate time per sample from time per step"));
    EXPECT_THAT(error, HasSubstr("made"));
    EXPECT_THAT(error, HasSubstr("56 samples per rank"));
  }
  EXPECT_NE(error_of([] { calibrate({}); }), "");
}

TEST(Calibration, EmptyStepsAndStepsThatGetFasterAreRefused) {
  std::vector<MeasuredStep> steps = {step_of(8, 1, 80), step_of(8, 1, 800)};
  steps[0].seconds = 0;
  EXPECT_THAT(error_of([&] { calibrate(steps); }), HasSubstr("0 s per step"));
  steps[0].seconds = 1e6;
  EXPECT_THAT(error_of([&] { calibrate(steps); }), HasSubstr("do not take longer"));
}

TEST(Calibration, TheErrorIsComputedFromResiduals) {
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

// Draws steps with errors, calibrates from them and predicts another: the spread of predictions and
// of the step itself is the predicted error.
TEST(Calibration, PredictedErrorsMatchRandomDraws) {
  const std::vector<MeasuredStep> exact = {step_of(8, 1, 448), step_of(8, 1, 64),
                                           step_of(64, 8, 512)};
  const auto seconds_of = [](const StepCosts& costs, const CostTerms& shares) {
    return costs.per_sample * shares[0] + costs.per_step * shares[1] +
           costs.between_nodes * shares[2];
  };
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, 0.02);
  // Samples a rank: inside the calibrated range, and far outside.
  for (const CostTerms& shares : {CostTerms{30, 1, 0}, CostTerms{30, 1, 1}, CostTerms{2, 1, 1}}) {
    double squares = 0;
    constexpr int kDraws = 4000;
    const double truth = seconds_of({3e-3, 20e-3, 5e-3}, shares);
    for (int i = 0; i < kDraws; ++i) {
      std::vector<MeasuredStep> steps = exact;
      for (MeasuredStep& step : steps) step.seconds *= 1 + error(random);
      const double off = seconds_of(calibrate(steps).costs, shares) / truth - 1 - error(random);
      squares += off * off;
    }
    const Calibration calibration = calibrate(exact);
    const double predicted = predicted_error(calibration, shares, truth, 64);
    EXPECT_NEAR(std::sqrt(squares / kDraws) / predicted, 1, 0.15) << shares[0];
    EXPECT_NEAR(predicted_error(calibration, shares, truth, 64 * 256), std::hypot(predicted, 0.08),
                1e-12);
  }
}

TEST(Calibration, UnmeasuredCostsMakePredictionsUncertain) {
  // One node gives no information on several nodes, and two similar batches little on a small one.
  const Calibration one = calibrate(std::vector{step_of(8, 1, 448), step_of(8, 1, 64)});
  EXPECT_GT(predicted_error(one, {8, 1, 1}, 44e-3, 8), 0.15);
  EXPECT_LT(predicted_error(one, {8, 1, 0}, 44e-3, 8), 0.04);
  const Calibration near = calibrate(std::vector{step_of(8, 1, 448), step_of(8, 1, 384)});
  EXPECT_GT(predicted_error(near, {4, 1, 0}, 32e-3, 8), 0.5);
}

TEST(Calibration, ReportsIfCommunicationAndConstantCannotBeSeparated) {
  EXPECT_TRUE(calibrate(std::vector{step_of(8, 1, 448), step_of(8, 1, 64)}).tells_nodes_apart);
  const std::vector<MeasuredStep> apart = {step_of(8, 1, 448), step_of(8, 1, 64),
                                           step_of(64, 8, 512)};
  EXPECT_TRUE(calibrate(apart).tells_nodes_apart);
  // A large step on one node, and small ones on several: 25 ms of either.
  const Calibration either = calibrate(
      std::vector{step_of(8, 1, 8 * 800), step_of(64, 8, 64 * 8), step_of(64, 8, 64 * 40)});
  EXPECT_FALSE(either.tells_nodes_apart);
  EXPECT_THAT(either.notes.back(),
              HasSubstr("measurement on one node with as few samples per rank"));
}

}  // namespace
}  // namespace strata::plan

#include "plan/run_time.h"

#include <cmath>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

TEST(RunTime, IsMadeOfStartStepsAndEvaluations) {
  // 1000 steps of 0.1 s. MLPerf's interval at batch 1000 is 150,000 samples: 1e6 / 150,000
  // evaluations.
  const RunTime run = predict_run({.step = 0.1,
                                   .evaluation = 3,
                                   .batch = 1000,
                                   .start = 5,
                                   .step_error = 0.03,
                                   .samples = {1e6, 0.02, "given"}});
  EXPECT_DOUBLE_EQ(run.steps, 1000);
  EXPECT_DOUBLE_EQ(run.training, 100);
  EXPECT_NEAR(run.evaluations, 20.0 / 3, 1e-12);
  EXPECT_NEAR(run.evaluating, 20, 1e-12);
  EXPECT_NEAR(run.total, 125, 1e-12);
  // Twice 3 % of 100 s and 2 % of 120 s.
  EXPECT_NEAR(run.high - run.total, 2 * std::hypot(3, 2.4), 1e-12);
  EXPECT_NEAR(run.total - run.low, 2 * std::hypot(3, 2.4), 1e-12);

  const RunTime every_ten = predict_run({.step = 0.1,
                                         .evaluation = 3,
                                         .batch = 1000,
                                         .steps_per_evaluation = 10,
                                         .samples = {1e6, 0, ""}});
  EXPECT_DOUBLE_EQ(every_ten.evaluations, 100);
}

TEST(RunTime, ReferencePointsAreInterpolated) {
  // Python computed these olympic means of round 2.0.0's file.
  EXPECT_NEAR(reference_samples("2.0.0", 448).mean, 2.622e6, 1e3);
  EXPECT_NEAR(reference_samples("2.0.0", 16384).mean, 5.505e6, 1e3);
  const double low = reference_samples("2.0.0", 4096).mean;
  const double high = reference_samples("2.0.0", 4608).mean;
  EXPECT_NEAR(reference_samples("2.0.0", 4352).mean, (low + high) / 2, 1e-3);
  EXPECT_EQ(reference_samples("2.0.0", 4352).ground, "reference points");
}

TEST(RunTime, BeyondTheReferencePointsSamplesGrowWithTheBatch) {
  const Samples end = reference_samples("2.0.0", 16384), beyond = reference_samples("2.0.0", 32768);
  EXPECT_NEAR(beyond.mean / end.mean, (1 + 32768 / 12800.0) / (1 + 16384 / 12800.0), 1e-12);
  EXPECT_EQ(beyond.ground, "beyond the reference points");
  EXPECT_LT(reference_samples("2.0.0", 64).mean, reference_samples("2.0.0", 256).mean);
}

TEST(RunTime, ARoundWithoutReferencePointsIsRefusedByName) {
  const std::string error = testing_support::error_of([] { reference_samples("0.7.0", 256); });
  EXPECT_THAT(error, HasSubstr("0.7.0"));
  EXPECT_THAT(error, HasSubstr("--samples"));
}

TEST(RunTime, GivenSamplesHaveTheErrorOfTheirMean) {
  EXPECT_DOUBLE_EQ(given_samples(3e6, 3e5, 9).error, 0.1 / 3);
  EXPECT_EQ(given_samples(3e6, 0, 0).error, 0);
}

TEST(RunTime, StartsAreFittedBySecondsAndSteps) {
  const std::vector<MeasuredStart> starts = {{2 + 10 * 0.2, 0.2, 1000}, {2 + 10 * 0.03, 0.03, 20}};
  const StartCosts start = fit_start(starts);
  EXPECT_NEAR(start.base, 2, 1e-9);
  EXPECT_NEAR(start.steps, 10, 1e-9);
  EXPECT_NEAR(start.seconds(0.1), 3, 1e-9);
  EXPECT_EQ(fit_start(std::vector<MeasuredStart>{{0, 0.2, 1000}}).seconds(0.2), 0);
}

}  // namespace
}  // namespace strata::plan

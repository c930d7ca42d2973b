#include "optim/lr_schedule.h"

#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "base/error.h"
#include "tests/support/matchers.h"

namespace strata::optim {
namespace {

const std::map<std::string, LrScheduleOptions> kCases = {
    {"published_1024x16",
     {LrSchedule::kWarmupThenPolynomialDecay, 3.9299e-4, 4.9455e-5, -16, 82, 179, 1.0}},
    {"published_square", {LrSchedule::kWarmupThenPolynomialDecay, 1e-3, 0.0, 0, 10, 50, 2.0}},
    {"published_no_warmup", {LrSchedule::kWarmupThenPolynomialDecay, 1e-3, 1e-4, 0, 0, 20, 0.5}},
    {"reference", {LrSchedule::kPolynomialDecay, 4e-4, 0.0, 0, 10, 50, 1.0}},
    {"reference_late_ramp", {LrSchedule::kPolynomialDecay, 4e-4, 0.0, -5, 20, 40, 0.5}},
};

// The golden file is from tests/golden/optim/lr_schedule.py.
TEST(LrSchedule, MatchesTheOriginalSchedulers) {
  std::ifstream file(STRATA_SOURCE_DIR "/tests/golden/optim/lr_schedule.csv");
  std::string name, step, rate;
  int rows = 0;
  while (std::getline(file, name, ',') && std::getline(file, step, ',') &&
         std::getline(file, rate)) {
    const double expected = std::stod(rate);
    EXPECT_NEAR(learning_rate(kCases.at(name), std::stol(step)), expected, 1e-14 * expected)
        << name << " step " << step;
    ++rows;
  }
  EXPECT_EQ(rows, 389);
}

TEST(LrSchedule, RampsFromItsStartToItsBaseAndDecaysToItsEnd) {
  const LrScheduleOptions options{LrSchedule::kWarmupThenPolynomialDecay, 1.0, 0.25, 0, 4, 10, 1.0};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(options, 3), 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(options, 4), 1.0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 7), 0.625);
  EXPECT_DOUBLE_EQ(learning_rate(options, 10), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1000000), 0.25);
}

TEST(LrSchedule, TheReferenceCountsFromZeroAndDecaysDuringTheRamp) {
  const LrScheduleOptions options{LrSchedule::kPolynomialDecay, 1.0, 0.0, 0, 4, 10, 1.0};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0.0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 4), 0.75);
  EXPECT_DOUBLE_EQ(learning_rate(options, 5), 0.6);
  EXPECT_DOUBLE_EQ(learning_rate(options, 11), 0.0);
}

// If the published ramp ends early, the decay begins above the base rate.
TEST(LrSchedule, APublishedRampThatStartsEarlyEndsAboveTheBaseRate) {
  const LrScheduleOptions options{
      LrSchedule::kWarmupThenPolynomialDecay, 1.0, 0.0, -16, 82, 179, 1.0};
  EXPECT_LT(learning_rate(options, 65), 1.0);
  for (int64_t step = 66; step < 82; ++step) EXPECT_GT(learning_rate(options, step), 1.0) << step;
  EXPECT_DOUBLE_EQ(learning_rate(options, 66), 1 + 16.0 / 97);
  EXPECT_DOUBLE_EQ(learning_rate(options, 82), 1.0);
}

TEST(LrSchedule, APublishedRampFromStepOneStartsAtZeroAndMissesTheBaseRate) {
  const LrScheduleOptions options{LrSchedule::kWarmupThenPolynomialDecay, 0.01, 0.0, 1, 2, 20, 1.0};
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 2), 0.005);
  EXPECT_DOUBLE_EQ(learning_rate(options, 3), 0.01 * 17 / 18);
}

TEST(LrSchedule, ARampStartsAtTheFirstStepAtTheLatest) {
  for (const auto schedule :
       {LrSchedule::kWarmupThenPolynomialDecay, LrSchedule::kPolynomialDecay}) {
    for (const int64_t warmup : {0, 4}) {
      LrScheduleOptions options{schedule, 1e-3, 0.0, first_t(schedule), warmup, 50, 1.0};
      EXPECT_NO_THROW(check_lr_schedule(options));
      for (int64_t step = 1; step < 60; ++step) EXPECT_GE(learning_rate(options, step), 0) << step;
      ++options.start_warmup_step;
      EXPECT_THROW(check_lr_schedule(options), Error) << "warmup_steps " << warmup;
    }
  }
}

TEST(LrSchedule, ImpossibleOptionsAreNamed) {
  const auto message = [](const LrScheduleOptions& options) {
    try {
      check_lr_schedule(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const LrScheduleOptions good{LrSchedule::kWarmupThenPolynomialDecay, 1e-3, 0.0, 0, 10, 50, 1.0};
  EXPECT_EQ(message(good), "");
  LrScheduleOptions bad = good;
  bad.base_learning_rate = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message(bad), HasSubstr("base_learning_rate is nan"));
  bad = good;
  bad.end_learning_rate = -1;
  EXPECT_THAT(message(bad), HasSubstr("end_learning_rate is -1"));
  bad = good;
  bad.total_steps = 10;
  EXPECT_THAT(message(bad), HasSubstr("total_steps is 10"));
  bad = good;
  bad.warmup_steps = -1;
  EXPECT_THAT(message(bad), HasSubstr("warmup_steps is -1"));
  bad = good;
  bad.power = 0;
  EXPECT_THAT(message(bad), HasSubstr("power is 0"));
}

}  // namespace
}  // namespace strata::optim

// Learning-rate schedules: pure functions of the step.
#pragma once

#include <cstdint>

namespace strata::optim {

enum class LrSchedule : uint8_t {
  // Published open-division runs. Step 1 is t = 1. While t - start < warmup, the rate is base * (t
  // - start) / warmup, then end + (base - end) * (1 - min(1, (t - warmup) / (total -
  // warmup)))^power.
  kWarmupThenPolynomialDecay,
  // MLCommons TensorFlow reference. Step 1 is t = 0. The decay runs over all steps from t = 0, end
  // + (base - end) * (1 - min(t, total) / total)^power, and the same ramp overrides it.
  kPolynomialDecay,
};

struct LrScheduleOptions {
  LrSchedule schedule = LrSchedule::kWarmupThenPolynomialDecay;
  double base_learning_rate = 0;
  double end_learning_rate = 0;
  // At most the first t, so that rates are not negative. If negative, the ramp starts above zero.
  // The published schedule then leaves the ramp -start_warmup_step steps before t = warmup_steps,
  // with rates above the base rate until this t.
  int64_t start_warmup_step = 0;
  int64_t warmup_steps = 0;  // 0: no ramp
  int64_t total_steps = 1;   // step at which the end rate is reached
  double power = 1.0;
};

// The t of step 1, and the latest start_warmup_step: a later one would begin the ramp with negative
// rates.
constexpr int64_t first_t(LrSchedule schedule) {
  return schedule == LrSchedule::kWarmupThenPolynomialDecay ? 1 : 0;
}

// Throws Error if the options do not define a schedule.
void check_lr_schedule(const LrScheduleOptions& options);

// Returns the rate of update number `step`, counted from 1 (Adam's t).
double learning_rate(const LrScheduleOptions& options, int64_t step);

}  // namespace strata::optim

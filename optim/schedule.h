// Learning-rate schedules: pure functions of the step.
#pragma once

#include <cstdint>

namespace strata::optim {

enum class Schedule : uint8_t {
  // The published open-division runs. Step 1 is t = 1: base * (t - start) / warmup while
  // t - start < warmup, then end + (base - end) * (1 - min(1, (t - warmup) / (total -
  // warmup)))^power.
  kWarmupThenPolynomialDecay,
  // The MLCommons TensorFlow reference. Step 1 is t = 0: the decay runs over all steps from t = 0,
  // end + (base - end) * (1 - min(t, total) / total)^power, and the same ramp overrides it.
  kPolynomialDecay,
};

struct ScheduleOptions {
  Schedule schedule = Schedule::kWarmupThenPolynomialDecay;
  double base_learning_rate = 0;
  double end_learning_rate = 0;
  // At most the first t: a later one would make rates negative. If it is negative the ramp starts
  // above zero; the published schedule then leaves the ramp before t = warmup_steps, and its rates
  // until then are above the base rate.
  int64_t start_warmup_step = 0;
  int64_t warmup_steps = 0;  // 0: no ramp
  int64_t total_steps = 1;   // the step at which the end rate is reached
  double power = 1.0;
};

// The t of step 1, which is also the latest start_warmup_step: after a later one the ramp would
// begin with negative rates.
constexpr int64_t first_t(Schedule schedule) {
  return schedule == Schedule::kWarmupThenPolynomialDecay ? 1 : 0;
}

// Throws Error where the options cannot make a schedule.
void check_schedule(const ScheduleOptions& options);

// The rate of update number `step`, counted from 1 (Adam's t).
double learning_rate(const ScheduleOptions& options, int64_t step);

}  // namespace strata::optim

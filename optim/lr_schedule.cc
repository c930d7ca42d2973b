#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace strata::optim {
namespace {

double decayed(const LrScheduleOptions& options, double progress) {
  return options.end_learning_rate + (options.base_learning_rate - options.end_learning_rate) *
                                         std::pow(1.0 - std::min(1.0, progress), options.power);
}

}  // namespace

void check_lr_schedule(const LrScheduleOptions& options) {
  const auto check_rate = [](const char* key, double value) {
    if (!(value >= 0) || !std::isfinite(value)) {
      fail("{} is {}: a learning rate must be a number of at least 0", key, value);
    }
  };
  check_rate("base_learning_rate", options.base_learning_rate);
  check_rate("end_learning_rate", options.end_learning_rate);
  if (options.warmup_steps < 0) {
    fail("warmup_steps is {}: it must be at least 0", options.warmup_steps);
  }
  if (options.start_warmup_step > first_t(options.schedule)) {
    fail("start_warmup_step is {}: it must be at most {}, or the first learning rates are negative",
         options.start_warmup_step, first_t(options.schedule));
  }
  if (options.total_steps < 1)
    fail("total_steps is {}: it must be at least 1", options.total_steps);
  if (options.schedule == LrSchedule::kWarmupThenPolynomialDecay &&
      options.total_steps <= options.warmup_steps) {
    fail("total_steps is {}, warmup_steps is {}: the decay needs at least one step after warm-up",
         options.total_steps, options.warmup_steps);
  }
  if (!(options.power > 0) || !std::isfinite(options.power)) {
    fail("power is {}: it must be above 0", options.power);
  }
}

double learning_rate(const LrScheduleOptions& options, int64_t step) {
  const bool published = options.schedule == LrSchedule::kWarmupThenPolynomialDecay;
  const int64_t t = step - 1 + first_t(options.schedule);
  const int64_t ramp = t - options.start_warmup_step;
  if (ramp < options.warmup_steps) {
    return options.base_learning_rate * static_cast<double>(ramp) /
           static_cast<double>(options.warmup_steps);
  }
  // If the start is negative, the published ramp ends before `warmup_steps`, and the decay begins
  // above the base rate, as in those runs.
  const int64_t decay_start = published ? options.warmup_steps : 0;
  return decayed(options, static_cast<double>(t - decay_start) /
                              static_cast<double>(options.total_steps - decay_start));
}

}  // namespace strata::optim

// The moments and update of Adam, which LAMB shares.
#pragma once

#include "optim/elementwise.h"

namespace strata::optim {

struct AdamMethod {
  using Options = AdamOptions;
  using Update = device::AdamUpdate;
  static constexpr const char* kName = "Adam";
  static constexpr const char* kState[] = {"adam_m", "adam_v"};
  struct Step {
    float learning_rate = 0;
    device::BiasCorrections corrections;
  };

  static void check(const char* name, const Options& options) {
    check_beta(name, "beta1", options.beta1);
    check_beta(name, "beta2", options.beta2);
    check_not_negative(name, "epsilon", options.epsilon);
    check_not_negative(name, "weight_decay", options.weight_decay);
  }
  static Step step(const Options& options, int64_t step, double learning_rate) {
    // Rounded to float, as in the operations.
    const auto beta1 = static_cast<float>(options.beta1), beta2 = static_cast<float>(options.beta2);
    return {static_cast<float>(learning_rate), device::bias_corrections(beta1, beta2, step)};
  }
  static Update update(const Options& options, const Step* step) {
    return {.corrections = device::value_at(&step->corrections),
            .beta1 = static_cast<float>(options.beta1),
            .beta2 = static_cast<float>(options.beta2),
            .epsilon = static_cast<float>(options.epsilon)};
  }
};

}  // namespace strata::optim

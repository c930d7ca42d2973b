// Dynamic loss scaling for gradients in f16, so that small gradients do not vanish (Micikevicius et
// al. 2018, arXiv 1710.03740, section 3.2).
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata::optim {

// The scale is a power of two, so that it rounds only gradients at the limits of the range.
struct LossScale {
  static constexpr float kLeast = 1, kMost = 16777216;  // 2^24

  float scale = 65536;
  // Consecutive steps without overflow since `scale` changed or a step was skipped.
  int64_t clean_steps = 0;
  int64_t skipped_steps = 0;  // since training began; the optimizer does not count skipped steps

  // Called after every step on all ranks with the same `overflowed`: true if a scaled gradient on
  // any rank was not finite. Such a step is skipped, and the scale is halved. After `growth_steps`
  // (at least 1) consecutive steps without overflow the scale is doubled.
  void after_step(bool overflowed, int64_t growth_steps) {
    if (overflowed) {
      ++skipped_steps;
      clean_steps = 0;
      scale = std::max(scale / 2, kLeast);
    } else if (++clean_steps == growth_steps) {
      clean_steps = 0;
      scale = std::min(scale * 2, kMost);
    }
  }
};

}  // namespace strata::optim

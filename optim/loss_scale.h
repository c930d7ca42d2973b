// What the loss is multiplied by where gradients are kept in f16, so that small ones are not lost:
// dynamic loss scaling (Micikevicius et al. 2018, arXiv 1710.03740, section 3.2).
#pragma once

#include <algorithm>
#include <cstdint>

namespace strata::optim {

// A power of two, so that scaling rounds nothing that is not too small or too large.
struct LossScale {
  static constexpr float kLeast = 1, kMost = 16777216;  // 2^24

  float scale = 65536;
  int64_t clean_steps = 0;    // since it changed last
  int64_t skipped_steps = 0;  // since training began: no step of the optimizer's

  // Of a step whose gradients, scaled by `scale`, were not finite: it is skipped, and the scale
  // halved. After every `growth_steps` steps without one it is doubled.
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

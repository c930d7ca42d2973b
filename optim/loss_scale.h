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
  int64_t clean_steps = 0;    // steps without overflow since `scale` changed or a step was skipped
  int64_t skipped_steps = 0;  // since training began; they do not count as the optimizer's steps

  // Call after every step; all ranks with the same `overflowed`, which says whether a gradient of
  // some rank, scaled by `scale`, was not finite. Such a step is skipped, and the scale is halved.
  // After `growth_steps` (at least 1) steps without overflow in a row the scale is doubled.
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

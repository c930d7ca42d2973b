// Modules on a ring of ranks over the same network, with and without delayed gradients (Ouroboros:
// Yang et al., arXiv 1909.06695).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/schedules/section.h"

namespace strata::bench {

// Medians over steps. Seconds, bytes.
struct ModulesMeasurement {
  std::string name;  // "3 modules, delayed"
  bool delayed = false;
  double step = 0;              // of the slowest rank
  double forward = 0;           // of all modules
  double backward = 0;          // of all modules
  double longest_backward = 0;  // of the rank with the longest
  double waiting = 0;           // for what other ranks send, the mean over ranks
  // A step until its last backward ends, of the slowest rank. Formula: ring_seconds().
  Compared span;
  // Sent in a step, over all ranks. Formula: 2 (K - 1) T H c for K modules.
  int64_t message_bytes = 0, message_bytes_formula = 0;
  // Over all ranks. Formula: activation_bytes().
  Compared activations;
  // Copies of weights for delayed backwards, over all ranks.
  int64_t stash_bytes = 0;
};

struct Modules {
  std::vector<ModulesMeasurement> orders;
  std::vector<Skipped> skipped;
};

// One module more than ranks, one micro-batch a step, first without delay, then delayed. All ranks
// call together.
Modules measure_modules(const SectionSetup& setup);

}  // namespace strata::bench

// Measures modules on a ring of ranks over the same network, with and without delayed gradients
// (Ouroboros: Yang et al., arXiv 1909.06695).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/schedules/section.h"

namespace strata::bench {

// Medians over steps, in seconds and bytes.
struct ModulesMeasurement {
  std::string name;  // "3 modules, delayed"
  bool delayed = false;
  double step = 0;              // time of the slowest rank
  double forward = 0;           // sum over modules
  double backward = 0;          // sum over modules
  double longest_backward = 0;  // time of the rank with the longest
  double waiting = 0;           // wait for messages of other ranks, mean over ranks
  // A step until its last backward ends, on the slowest rank. Formula: ring_seconds().
  Compared span;
  // Bytes sent in a step, over all ranks. Formula: 2 (K - 1) T H c for K modules.
  int64_t message_bytes = 0, message_bytes_formula = 0;
  // Bytes over all ranks. Formula: activation_bytes().
  Compared activations;
  // Bytes of the weight copies for delayed backwards, over all ranks.
  int64_t stash_bytes = 0;
};

struct Modules {
  std::vector<ModulesMeasurement> orders;
  std::vector<Skipped> skipped;
};

// Runs one module more than ranks with one micro-batch per step, first undelayed, then delayed. All
// ranks call together.
Modules measure_modules(const SectionSetup& setup);

}  // namespace strata::bench

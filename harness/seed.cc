#include "harness/seed.h"

#include <random>

namespace strata::harness {

uint64_t experiment_seed(std::optional<uint64_t> configured, int experiment) {
  return configured ? *configured + static_cast<uint64_t>(experiment) : std::random_device{}();
}

}  // namespace strata::harness

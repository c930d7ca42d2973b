#include "bert/blocks/layer_drop.h"

#include <cmath>

#include "base/numbers/random.h"
#include "device/operations/dropout.h"

namespace strata::bert {

double theta_at(const LayerDrop& drop, uint64_t step) {
  const double before = static_cast<double>(step) - 1;
  return (1 - drop.theta) * std::exp(-drop.gamma * before) + drop.theta;
}

double keep_probability(const LayerDrop& drop, uint64_t step, size_t layer, size_t layers) {
  const double depth = static_cast<double>(layer) / static_cast<double>(layers);
  return 1 - depth * (1 - theta_at(drop, step));
}

std::vector<float> layer_scales(const LayerDrop& drop, uint64_t seed, uint64_t step,
                                size_t layers) {
  constexpr uint64_t kPurpose = 0x6c61796572;  // separates the key from dropout's keys
  const uint64_t key = splitmix64(device::dropout_step_key(seed, step) ^ kPurpose);
  std::vector<float> scales;
  for (size_t layer = 0; layer < layers; ++layer) {
    const double draw = unit_interval(splitmix64(key ^ layer));
    const double kept = keep_probability(drop, step, layer, layers);
    scales.push_back(draw < kept ? static_cast<float>(1 / kept) : 0.0f);
  }
  return scales;
}

double expected_share(const LayerDrop& drop, uint64_t steps, size_t layers) {
  double sum = 0;
  for (uint64_t step = 1; step <= steps; ++step) {
    for (size_t layer = 0; layer < layers; ++layer) {
      sum += keep_probability(drop, step, layer, layers);
    }
  }
  return sum / static_cast<double>(steps) / static_cast<double>(layers);
}

}  // namespace strata::bert

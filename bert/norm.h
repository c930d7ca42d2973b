// Positions of LayerNorm in a layer, and its replacement.
#pragma once

#include <cstdint>

#include "device/operations/operations.h"

namespace strata::bert {

enum class Norm : uint8_t {
  kPost,  // after every sublayer's residual sum, as BERT does
  kPre,   // before every sublayer, and once before the heads (Xiong et al. 2020)
  kNone,  // nowhere: only the gain and bias of kPost's LayerNorms remain
};

// The standardization loss for kNone (Collins et al. 2019, arXiv 1903.00925). Every place that had
// a LayerNorm adds `weight` times the mean of device::StandardizationLoss over rows.
struct Standardization {
  double weight = 0;  // at least 0; 0: no such loss
  device::StandardizationAxis axis = device::StandardizationAxis::kUnit;

  bool enabled() const { return weight > 0; }
};

}  // namespace strata::bert

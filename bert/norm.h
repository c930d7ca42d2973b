// Where a layer normalizes, and what takes the place of normalizing.
#pragma once

#include <cstdint>

#include "device/operations/operations.h"

namespace strata::bert {

enum class Norm : uint8_t {
  kPost,  // after every sublayer's residual sum, as BERT does
  kPre,   // before every sublayer, and once before the heads (Xiong et al. 2020)
  kNone,  // nowhere: where kPost has a LayerNorm, its gain and bias are left
};

// The standardization loss of kNone (Collins et al. 2019, arXiv 1903.00925): `weight` times the
// sum, over all places where a LayerNorm stood, of device::StandardizationLoss's mean over rows.
struct Standardization {
  double weight = 0;  // at least 0; 0: there is no such loss
  device::StandardizationAxis axis = device::StandardizationAxis::kUnit;

  bool enabled() const { return weight > 0; }
};

}  // namespace strata::bert

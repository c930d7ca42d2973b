// Device memory that a resumed run needs.
#pragma once

#include <string>

#include "device/operations/tensor.h"

namespace strata::device {

// A tensor that must be saved to resume a run, and its name in a checkpoint.
struct StateTensor {
  std::string name;
  Tensor tensor;  // [n]
};

}  // namespace strata::device

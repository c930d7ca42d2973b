// Access to single elements of a tensor of any dtype, as doubles.
#pragma once

#include "device/backend.h"

namespace strata::device::reference {

inline double load(const ConstTensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::kF64:
      return tensor.as<double>()[i];
    case DType::kF32:
      return tensor.as<float>()[i];
    case DType::kBF16:
      return tensor.as<BFloat16>()[i];
  }
  __builtin_unreachable();
}

// Rounds to nearest even; to bf16 by way of float.
inline void store(const Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype) {
    case DType::kF64:
      tensor.as<double>()[i] = value;
      return;
    case DType::kF32:
      tensor.as<float>()[i] = static_cast<float>(value);
      return;
    case DType::kBF16:
      tensor.as<BFloat16>()[i] = static_cast<float>(value);
      return;
  }
}

}  // namespace strata::device::reference

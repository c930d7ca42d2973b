// Access to single elements of a tensor of any dtype, as f64.
#pragma once

#include "device/operations/float8.h"
#include "device/operations/tensor.h"

namespace strata::device::plain {

inline double load(const ConstTensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case DType::kF64:
      return tensor.as<double>()[i];
    case DType::kF32:
      return tensor.as<float>()[i];
    case DType::kBF16:
      return tensor.as<BFloat16>()[i];
    case DType::kF16:
      return tensor.as<Float16>()[i];
    case DType::kE4M3:
      return from_float8<E4M3>(tensor.as<uint8_t>()[i]) / tensor.scale[0];
    case DType::kE5M2:
      return from_float8<E5M2>(tensor.as<uint8_t>()[i]) / tensor.scale[0];
  }
  __builtin_unreachable();
}

// Rounds to nearest even; 16-bit and 8-bit dtypes are rounded from float.
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
    case DType::kF16:
      tensor.as<Float16>()[i] = static_cast<float>(value);
      return;
    case DType::kE4M3:
      tensor.as<uint8_t>()[i] = to_float8<E4M3>(static_cast<float>(value) * tensor.scale[0]);
      return;
    case DType::kE5M2:
      tensor.as<uint8_t>()[i] = to_float8<E5M2>(static_cast<float>(value) * tensor.scale[0]);
      return;
  }
}

}  // namespace strata::device::plain

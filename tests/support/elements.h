// Reads and writes tensors of any dtype in host memory.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "device/backend.h"

namespace strata::testing_support {

inline double element(const device::ConstTensor& tensor, int64_t i) {
  switch (tensor.dtype) {
    case device::DType::kF64:
      return tensor.as<double>()[i];
    case device::DType::kF32:
      return tensor.as<float>()[i];
    case device::DType::kBF16:
      return tensor.as<device::BFloat16>()[i];
    case device::DType::kF16:
      return tensor.as<device::Float16>()[i];
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;
  }
  fail("{} elements are not looked at here", name_of(tensor.dtype));
}

inline void set_element(const device::Tensor& tensor, int64_t i, double value) {
  switch (tensor.dtype) {
    case device::DType::kF64:
      tensor.as<double>()[i] = value;
      return;
    case device::DType::kF32:
      tensor.as<float>()[i] = static_cast<float>(value);
      return;
    case device::DType::kBF16:
      tensor.as<device::BFloat16>()[i] = static_cast<float>(value);
      return;
    case device::DType::kF16:
      tensor.as<device::Float16>()[i] = static_cast<float>(value);
      return;
    case device::DType::kE4M3:
    case device::DType::kE5M2:
      break;
  }
  fail("{} elements are not written here", name_of(tensor.dtype));
}

}  // namespace strata::testing_support

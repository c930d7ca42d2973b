// Device memory with random numbers, for the operands of measured operations.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <list>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bench {

// An output, and its FP8 copy for GEMMs.
struct Copied {
  device::Tensor tensor;
  device::Float8Copy copy;
};

// Owns all tensors that it returns.
class Operands {
 public:
  // `float8`: GEMMs run in FP8. `backend` must outlive the object.
  explicit Operands(device::Backend& backend, bool float8 = false)
      : backend_(backend), float8_(float8) {}

  device::Tensor compute(int64_t rows, int64_t cols) {
    return make(backend_.compute_dtype(), rows, cols);
  }
  device::Tensor master(int64_t rows, int64_t cols) {
    return make(backend_.master_dtype(), rows, cols);
  }
  // Returns numbers around 1 in the master dtype, like inverse deviations.
  device::Tensor positive(int64_t cols) { return make(backend_.master_dtype(), 1, cols, 1.0f); }
  // Returns zeros.
  template <typename T>
  T* zeros() {
    return buffers_.emplace_back(backend_, sizeof(T)).template as<T>();
  }
  // Returns a GEMM's operand; `float8_dtype` is its dtype in FP8.
  device::ConstTensor operand(device::DType float8_dtype, int64_t rows, int64_t cols);
  // Returns an output that GEMMs and other operations read.
  Copied copied(device::DType float8_dtype, int64_t rows, int64_t cols);
  // Returns an output that only GEMMs read.
  Copied only_for_gemms(device::DType float8_dtype, int64_t rows, int64_t cols);

 private:
  device::Tensor make(device::DType dtype, int64_t rows, int64_t cols, float mean = 0.0f);

  device::Backend& backend_;
  bool float8_;
  std::list<device::Buffer> buffers_;
};

// Returns the bytes of the tensors that are not absent.
double bytes_of(std::initializer_list<device::ConstTensor> tensors);

}  // namespace strata::bench

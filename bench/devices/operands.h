// Device memory for the operands of operations that are measured, full of random numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <list>

#include "device/backend.h"
#include "device/memory/buffer.h"

namespace strata::bench {

// An output, with what is written of it for FP8 GEMMs.
struct Copied {
  device::Tensor tensor;
  device::Float8Copy copy;
};

// Owns all that it makes.
class Operands {
 public:
  // `float8`: GEMMs are in FP8. `backend` outlives it.
  explicit Operands(device::Backend& backend, bool float8 = false)
      : backend_(backend), float8_(float8) {}

  device::Tensor compute(int64_t rows, int64_t cols) {
    return make(backend_.compute_dtype(), rows, cols);
  }
  device::Tensor master(int64_t rows, int64_t cols) {
    return make(backend_.master_dtype(), rows, cols);
  }
  // Numbers around 1, as inverse deviations are; of the master dtype.
  device::Tensor positive(int64_t cols) { return make(backend_.master_dtype(), 1, cols, 1.0f); }
  // Zeros.
  template <typename T>
  T* zeros() {
    return buffers_.emplace_back(backend_, sizeof(T)).template as<T>();
  }
  // What a GEMM reads; `float8_dtype`: its dtype in FP8.
  device::ConstTensor operand(device::DType float8_dtype, int64_t rows, int64_t cols);
  // An output that a GEMM reads, and others.
  Copied copied(device::DType float8_dtype, int64_t rows, int64_t cols);
  // One that nothing but GEMMs read.
  Copied only_for_gemms(device::DType float8_dtype, int64_t rows, int64_t cols);

 private:
  device::Tensor make(device::DType dtype, int64_t rows, int64_t cols, float mean = 0.0f);

  device::Backend& backend_;
  bool float8_;
  std::list<device::Buffer> buffers_;
};

// Of those that are there.
double bytes_of(std::initializer_list<device::ConstTensor> tensors);

}  // namespace strata::bench

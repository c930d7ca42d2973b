// A GEMM, as backends pass it to their libraries.
#pragma once

#include <cstdint>

#include "device/operations/dtype.h"

namespace strata::device {

// c[m, n] = op(a) op(b), all row-major. `lda`, `ldb` and `ldc` are row strides in elements.
struct MatmulCall {
  bool transpose_a = false;  // a is stored [k, m]
  bool transpose_b = false;  // b is stored [n, k]
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  const void* bias = nullptr;  // [n] of the inputs' dtype, added to every row
  bool accumulate = false;     // c += instead of c =
  DType input_dtype = DType::kF32;
  DType output_dtype = DType::kF32;  // kF32 or input_dtype
};

}  // namespace strata::device

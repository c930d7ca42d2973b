// The operations of the CUDA backend, for storage type T: float, BFloat16 or Float16. They only
// issue work on their context's stream. The order of sums depends only on shapes.
#pragma once

#include "device/backend.h"
#include "device/cuda/runtime/runtime.h"

namespace strata::device::cuda {

#define STRATA_DECLARE(function, Arguments, without) \
  static void function(const Context&, const Arguments&);

struct FlatOperations {
  STRATA_FLAT_OPERATIONS(STRATA_DECLARE)
  STRATA_COMPOSED_OPERATIONS(STRATA_DECLARE)
};

template <typename T>
struct Operations : FlatOperations {
  STRATA_MATRIX_OPERATIONS(STRATA_DECLARE)
  static void activation_forward(const Context&, Activation, const ConstTensor& pre_activation,
                                 const Tensor& y, const Float8Copy& y_float8);
  // Uses scratch slot `slot` if `sums` is given.
  static void activation_backward(const Context&, const ActivationBackward&,
                                  const Float8Copy& dx_float8, const ColumnSums& sums, int slot);
};
#undef STRATA_DECLARE

// For the file that defines the operation.
#define STRATA_INSTANTIATE(function, Arguments)                                   \
  template void Operations<float>::function(const Context&, const Arguments&);    \
  template void Operations<BFloat16>::function(const Context&, const Arguments&); \
  template void Operations<Float16>::function(const Context&, const Arguments&)

}  // namespace strata::device::cuda

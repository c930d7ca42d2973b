// The operations of the CPU backend (device/operations/operation_list.h), for storage type T:
// float, Float16, or uint16_t for bfloat16.
#pragma once

#include "device/backend.h"
#include "device/cpu/kernels/parallel.h"

namespace strata::device::cpu {

#define STRATA_DECLARE(function, Arguments, without) \
  static void function(const Context&, const Arguments&);

struct FlatOperations {
  STRATA_FLAT_OPERATIONS(STRATA_DECLARE)
};

template <typename T>
struct Operations : FlatOperations {
  STRATA_MATRIX_OPERATIONS(STRATA_DECLARE)
};
#undef STRATA_DECLARE

// For the file that defines the operation.
#define STRATA_INSTANTIATE(function, Arguments)                                   \
  template void Operations<float>::function(const Context&, const Arguments&);    \
  template void Operations<uint16_t>::function(const Context&, const Arguments&); \
  template void Operations<Float16>::function(const Context&, const Arguments&)

}  // namespace strata::device::cpu

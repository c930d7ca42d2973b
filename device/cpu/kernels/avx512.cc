#include "device/cpu/kernels/make_table.h"
#include "device/cpu/kernels/tables.h"

namespace strata::device::cpu {

const VectorKernels& avx512_kernels() {
  static constexpr VectorKernels table = make_table("avx512");
  return table;
}

}  // namespace strata::device::cpu

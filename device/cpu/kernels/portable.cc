#include "device/cpu/kernels/make_table.h"
#include "device/cpu/kernels/tables.h"

namespace strata::device::cpu {

const VectorKernels& portable_kernels() {
  static constexpr VectorKernels table = make_table("portable");
  return table;
}

}  // namespace strata::device::cpu

#include "device/cpu/flat/plain_pass.h"

#include "device/cpu/flat/flat_ranges.h"

namespace strata::device::cpu {

void run_plain_pass(int threads, int64_t count, const PlainPass& pass) {
  const VectorKernels& kernels = kernels_for_this_cpu();
  parallel_elements(threads, count,
                    [&](int64_t begin, int64_t end) { kernels.plain_pass(pass, begin, end); });
}

}  // namespace strata::device::cpu

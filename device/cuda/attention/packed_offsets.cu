#include "device/cuda/attention/packed_offsets.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    offsets_kernel(const int32_t* cu_seqlens, int32_t sequences, int32_t hidden, int32_t heads,
                   PackedOffsets offsets) {
  const auto i = static_cast<int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (i > sequences) return;
  const int32_t begin = cu_seqlens[i];
  offsets.qkv[i] = 3 * hidden * begin;
  offsets.context[i] = hidden * begin;
  offsets.statistics[i] = heads * begin;
  if (i < sequences) offsets.lengths[i] = cu_seqlens[i + 1] - begin;
}

}  // namespace

void write_packed_offsets(const Context& context, const Sequences& sequences, int32_t hidden,
                          int32_t heads, const PackedOffsets& offsets) {
  launch(context.stream, ceil_div(sequences.count + 1, kThreads), kThreads, offsets_kernel,
         sequences.cu_seqlens, sequences.count, hidden, heads, offsets);
}

}  // namespace strata::device::cuda

#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "device/cuda/rows/sort_rows.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) count_up_kernel(int32_t* rows, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) rows[i] = static_cast<int32_t>(i);
}

}  // namespace

SortedRows sort_rows(const Context& context, const int32_t* ids, int64_t count, int64_t limit,
                     int slot) {
  int32_t* memory = context.scratch[slot].get<int32_t>(3 * count);
  int32_t *sorted_ids = memory, *sorted_rows = memory + count, *rows = memory + 2 * count;
  launch(context.stream, ceil_div(count, kThreads), kThreads, count_up_kernel, rows, count);
  const int bits = std::bit_width(static_cast<uint64_t>(limit > 1 ? limit - 1 : 1));
  size_t bytes = 0;
  const auto sort = [&](void* temporary) {
    check(cub::DeviceRadixSort::SortPairs(temporary, bytes, ids, sorted_ids, rows, sorted_rows,
                                          static_cast<int>(count), 0, bits, context.stream),
          "sorting rows");
  };
  sort(nullptr);  // queries the size of its scratch
  sort(context.scratch[slot + 1].get<char>(static_cast<int64_t>(bytes)));
  return {sorted_ids, sorted_rows};
}

}  // namespace strata::device::cuda

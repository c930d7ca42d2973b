#include <bit>

#include "device/cuda/attention/difference.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1024;

// Returns the bits of |x|. As integers they have the order of the numbers, with NaN last.
__device__ int bits_of_magnitude(float x) { return __float_as_int(x) & 0x7fffffff; }

struct Larger {
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

// results: bits of the largest difference and of the largest value.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    difference_kernel(const T* a, const T* b, int64_t rows, int64_t stride, int64_t columns,
                      int* results) {
  int difference = 0, value = 0;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < rows * columns;
       i += int64_t{gridDim.x} * kThreads) {
    const int64_t at = i / columns * stride + i % columns;
    const auto x = static_cast<float>(a[at]), y = static_cast<float>(b[at]);
    difference = Larger{}(difference, bits_of_magnitude(x - y));
    value = Larger{}(value, bits_of_magnitude(x));
  }
  difference = warp_reduce<Larger>(difference);
  value = warp_reduce<Larger>(value);
  if (lane() != 0) return;
  atomicMax(&results[0], difference);
  atomicMax(&results[1], value);
}

template <typename T>
void start(const Context& context, const ConstTensor& a, const ConstTensor& b, int64_t first_column,
           int64_t columns, int* results) {
  const int64_t blocks = ceil_div(a.rows * columns, kThreads);
  launch(context.stream, blocks < kMostBlocks ? blocks : kMostBlocks, kThreads,
         difference_kernel<T>, a.as<T>() + first_column, b.as<T>() + first_column, a.rows, a.cols,
         columns, results);
}

}  // namespace

Difference difference_of(const Context& context, const ConstTensor& a, const ConstTensor& b,
                         int64_t first_column, int64_t columns) {
  int* results = context.scratch[0].get<int>(2);
  check(cudaMemsetAsync(results, 0, 2 * sizeof(int), context.stream), "comparing attention");
  if (a.dtype == DType::kF32) {
    start<float>(context, a, b, first_column, columns, results);
  } else {
    start<BFloat16>(context, a, b, first_column, columns, results);
  }
  int bits[2] = {};
  check(cudaMemcpyAsync(bits, results, sizeof bits, cudaMemcpyDeviceToHost, context.stream),
        "comparing attention");
  check(cudaStreamSynchronize(context.stream), "comparing attention");
  return {std::bit_cast<float>(bits[0]), std::bit_cast<float>(bits[1])};
}

}  // namespace strata::device::cuda

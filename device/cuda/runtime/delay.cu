#include "device/cuda/runtime/delay.h"
#include "device/cuda/runtime/kernel.h"

namespace strata::device::cuda {
namespace {

constexpr int kCyclesPerMicrosecond = 2000;

__global__ void __launch_bounds__(kWarpSize) delay_kernel(int cycles) {
  if (threadIdx.x > 0) return;
  const auto begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

}  // namespace

void delay(cudaStream_t stream, int microseconds) {
  launch(stream, 1, kWarpSize, delay_kernel, kCyclesPerMicrosecond * microseconds);
}

}  // namespace strata::device::cuda

// How many kernels operations take.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/buffer.h"
#include "device/cuda/cuda_backend.h"
#include "optim/optimizer.h"

namespace strata::optim {
namespace {

using device::DType;
using device::Stream;

TEST(LambLaunches, DoNotGrowWithTheNumberOfTensors) {
  const auto gpu = device::cuda::make_cuda_backend(DType::kBF16, 0);
  for (const int64_t tensors : {2, 12, 60}) {
    std::vector<Segment> segments;
    for (int64_t i = 0; i < tensors; ++i) segments.push_back({i * 5000, 5000, i % 2 == 0});
    const int64_t size = tensors * 5000;
    const device::Buffer weights(*gpu, static_cast<size_t>(size) * 4),
        compute_weights(*gpu, static_cast<size_t>(size) * 2),
        gradients(*gpu, static_cast<size_t>(size) * 4);
    const ParameterArena arena{device::Tensor{weights.data(), DType::kF32, 1, size},
                               device::Tensor{compute_weights.data(), DType::kBF16, 1, size},
                               device::Tensor{gradients.data(), DType::kF32, 1, size}};
    const auto lamb = make_lamb(*gpu, arena, segments, {.weight_decay = 0.01});
    lamb->begin_step(Stream::kCompute, 1, 1e-3);
    emulated_cuda::kernel_launches = 0;
    // The first range ends inside a tensor.
    lamb->update(Stream::kCompute, {0, 7000}, {});
    EXPECT_EQ(emulated_cuda::kernel_launches, 3) << "directions, norms, update";
    lamb->update(Stream::kCompute, {7000, size}, {});
    EXPECT_EQ(emulated_cuda::kernel_launches, tensors > 2 ? 6 : 4);
  }
}

}  // namespace
}  // namespace strata::optim

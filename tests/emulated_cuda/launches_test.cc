// Tests the number of kernels of operations.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/cuda/cuda_backend.h"
#include "device/memory/buffer.h"
#include "optim/optimizer.h"

namespace strata::optim {
namespace {

using device::DType;
using device::Stream;

TEST(LambLaunches, DoNotGrowWithTheNumberOfTensors) {
  const auto gpu = device::cuda::make_cuda_backend(DType::kBF16, 0);
  for (const int64_t tensors : {2, 12, 60}) {
    std::vector<ParameterSegment> segments;
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

class BiasGradient : public testing::Test {
 protected:
  static constexpr int64_t kRows = 40, kColumns = 64;

  device::Tensor tensor(DType dtype, int64_t rows) {
    buffers_.emplace_back(*gpu_, static_cast<size_t>(rows * kColumns) * size_of(dtype));
    return {buffers_.back().data(), dtype, rows, kColumns};
  }
  device::Tensor activation() { return tensor(DType::kBF16, kRows); }
  device::Tensor vector() { return tensor(DType::kF32, 1); }
  template <typename Work>
  static int kernels_of(const Work& work) {
    work();  // the first call may tune
    emulated_cuda::kernel_launches = 0;
    work();
    return emulated_cuda::kernel_launches;
  }

  std::unique_ptr<device::Backend> gpu_ = device::cuda::make_cuda_backend(
      DType::kBF16, 0, {.epilogues = device::cuda::FusedEpilogues::kNever});
  std::vector<device::Buffer> buffers_;
};

TEST_F(BiasGradient, BeforeLayerNormNeedsNoKernelOfItsOwn) {
  bool done = false;
  device::ResidualLayerNormBackward op{.dy = activation(),
                                       .normalized = activation(),
                                       .inverse_stddev = {vector().data, DType::kF32, 1, kRows},
                                       .gamma = tensor(DType::kBF16, 1),
                                       .d_x = activation(),
                                       .d_gamma = vector(),
                                       .d_beta = vector()};
  const auto backward = [&] { gpu_->residual_layernorm_backward(Stream::kCompute, op); };
  EXPECT_EQ(kernels_of(backward), 2) << "rows, sums";
  op.d_x_sums = {vector(), false, &done};
  EXPECT_EQ(kernels_of(backward), 2);
  EXPECT_TRUE(done);
}

TEST_F(BiasGradient, BeforeGeluNeedsNoPassOverTheRows) {
  bool done = false;
  device::LinearDataGradient op{.dy = activation(),
                                .weight = tensor(DType::kBF16, kColumns),
                                .activation = device::Activation::kGeluTanh,
                                .pre_activation = activation(),
                                .dx = activation()};
  const auto data_gradient = [&] { gpu_->linear_data_gradient(Stream::kCompute, op); };
  EXPECT_EQ(kernels_of(data_gradient), 1) << "beside the GEMM";
  op.dx_sums = {vector(), false, &done};
  EXPECT_EQ(kernels_of(data_gradient), 2) << "and the sums of blocks";
  EXPECT_TRUE(done);
  device::LinearWeightGradient weight{.x = activation(),
                                      .dy = activation(),
                                      .d_weight = tensor(DType::kF32, kColumns),
                                      .d_bias = vector()};
  const auto weight_gradient = [&] { gpu_->linear_weight_gradient(Stream::kCompute, weight); };
  EXPECT_EQ(kernels_of(weight_gradient), 2) << "a pass over the rows, and the sums of blocks";
  weight.d_bias = {};
  EXPECT_EQ(kernels_of(weight_gradient), 0);
}

}  // namespace
}  // namespace strata::optim

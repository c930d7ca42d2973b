// When attention is cuDNN's.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda/cuda_backend.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class CudnnChoice : public testing::Test {
 protected:
  // Operations by cuDNN in a training step and in an evaluation, of a layer.
  struct Operations {
    int of_training, of_evaluation;
    bool operator==(const Operations&) const = default;
  };
  Operations operations(device::cuda::AttentionKernel attention, float dropout,
                        bool float8 = false) {
    bert::BertConfig config = small_bert();
    config.layers = 1;
    config.attention_dropout = dropout;
    const auto gpu =
        device::cuda::make_cuda_backend(device::DType::kBF16, 0, {.attention = attention});
    bert::Model model(config, *gpu, training::capacity_of(*source_, 4),
                      {.rounding = {.tokens = 16}, .float8 = float8});
    model.set_weights(bert::random_weights(model.layout(), 1));
    data::PackedBatch batch;
    source_->read(std::array{0u, 1u, 2u, 3u}, batch);
    if (float8) model.train(batch, {.step = 1}, {});  // only looks
    emulated_cuda::cudnn_operations = 0;
    model.train(batch, {.step = 2}, {});
    const int of_training = emulated_cuda::cudnn_operations;
    model.evaluate(batch);
    return {of_training, emulated_cuda::cudnn_operations - of_training};
  }

  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(8));
};

using device::cuda::AttentionKernel;

TEST_F(CudnnChoice, ServesWhereNothingIsDropped) {
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.1f), (Operations{0, 1}));
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.0f), (Operations{2, 1}));
}

TEST_F(CudnnChoice, ServesNoOneWhoWantsCodes) {
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.0f, true), (Operations{0, 0}));
}

TEST_F(CudnnChoice, WithoutPlansIsAnErrorWhereItWasAskedForAndElseNotMissed) {
  emulated_cuda::cudnn_has_no_plans = true;
  EXPECT_EQ(operations(AttentionKernel::kFastest, 0.0f), (Operations{0, 0}));
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.1f, true), (Operations{0, 0})) << "not for it";
  EXPECT_THROW(operations(AttentionKernel::kCudnn, 0.0f), Error);
  emulated_cuda::cudnn_has_no_plans = false;
}

TEST_F(CudnnChoice, IsNotAskedWhereAnotherIsWanted) {
  EXPECT_EQ(operations(AttentionKernel::kMma, 0.0f), (Operations{0, 0}));
  EXPECT_EQ(operations(AttentionKernel::kPlain, 0.0f), (Operations{0, 0}));
}

}  // namespace
}  // namespace strata::training

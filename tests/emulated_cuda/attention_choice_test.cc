// Tests the choice of attention's kernel.
#include <cuda_runtime.h>

#include <limits>

#include "base/error.h"
#include "device/cuda/cuda_backend.h"
#include "tests/conformance/bench.h"
#include "tests/emulated_cuda/cudnn_attention.h"
#include "tests/emulated_cuda/tensor_cores.h"
#include "tests/support/matchers.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

class CudnnChoice : public testing::Test {
 protected:
  // Number of cuDNN operations per layer in a training step and in an evaluation.
  struct Operations {
    int of_training, of_evaluation;
    bool operator==(const Operations&) const = default;
  };
  Operations operations(device::cuda::AttentionKernel attention, float dropout,
                        bool float8 = false) {
    bert::BertConfig config = small_bert();
    config.layers = 1;
    config.attention_dropout = dropout;
    const auto gpu = device::cuda::make_cuda_backend(
        device::DType::kBF16, 0, {.attention = attention, .attention_compared_from = 0});
    bert::Model model(config, *gpu, training::capacity_of(*source_, 4),
                      {.rounding = {.tokens = 16}, .float8 = float8});
    model.set_weights(bert::random_weights(model.layout(), 1));
    data::PackedBatch batch;
    source_->read(std::array{0u, 1u, 2u, 3u}, batch);
    if (float8) model.train(batch, {.step = 1}, {});  // only measures the operands
    emulated_cuda::cudnn_operations = 0;
    model.train(batch, {.step = 2}, {});
    const int of_training = emulated_cuda::cudnn_operations;
    model.evaluate(batch);
    return {of_training, emulated_cuda::cudnn_operations - of_training};
  }

  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(8));
};

using device::cuda::AttentionKernel;

TEST_F(CudnnChoice, IsUsedWithoutDropout) {
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.1f), (Operations{0, 1}));
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.0f), (Operations{2, 1}));
}

TEST_F(CudnnChoice, IsNotUsedForFp8Outputs) {
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.0f, true), (Operations{0, 0}));
}

TEST_F(CudnnChoice, MissingPlansAreAnErrorOnlyIfItIsRequested) {
  emulated_cuda::cudnn_has_no_plans = true;
  EXPECT_EQ(operations(AttentionKernel::kFastest, 0.0f), (Operations{0, 0}));
  EXPECT_EQ(operations(AttentionKernel::kCudnn, 0.1f, true), (Operations{0, 0})) << "not for it";
  EXPECT_THROW(operations(AttentionKernel::kCudnn, 0.0f), Error);
  emulated_cuda::cudnn_has_no_plans = false;
}

TEST_F(CudnnChoice, OtherKernelsRunIfItsWorkspaceFindsNoMemory) {
  emulated_cuda::cudnn_workspace_bytes = int64_t{1} << 60;
  for (const AttentionKernel wanted : {AttentionKernel::kFastest, AttentionKernel::kCudnn}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(operations(wanted, 0.0f), (Operations{0, 0}));
    const std::string said = testing::internal::GetCapturedStderr();
    const size_t first = said.find("MiB of workspace");
    EXPECT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find("MiB of workspace", first + 1), std::string::npos)
        << "said twice: " << said;
  }
  emulated_cuda::cudnn_workspace_bytes = 0;
}

TEST_F(CudnnChoice, IsNotUsedIfAnotherKernelIsRequested) {
  EXPECT_EQ(operations(AttentionKernel::kMma, 0.0f), (Operations{0, 0}));
  EXPECT_EQ(operations(AttentionKernel::kPlain, 0.0f), (Operations{0, 0}));
}

}  // namespace
}  // namespace strata::training

namespace strata::device {
namespace {

using cuda::AttentionKernel;

// Detects which kernels compute attention in heads of 64, forward and backward.
class AttentionChoice : public testing::Test {
 protected:
  ~AttentionChoice() override {
    emulated_cuda::mma_is_wrong = emulated_cuda::wgmma_is_wrong = emulated_cuda::cudnn_is_wrong =
        false;
  }

  struct Kernels {
    bool mma, wgmma;
    bool operator==(const Kernels&) const = default;
  };
  static constexpr Kernels kOnlyMma = {true, false}, kOnlyWgmma = {false, true},
                           kBoth = {true, true};

  static std::unique_ptr<Backend> backend(double compared_from = 0) {
    return cuda::make_cuda_backend(DType::kBF16, 0, {.attention_compared_from = compared_from});
  }

  // Runs attention within sequences of these lengths, one head each. Returns the kernels that ran.
  static Kernels attend(Backend& gpu, const std::vector<int32_t>& lengths, float dropped = 0.1f,
                        double spread = 1.7) {
    const Packed batch(lengths);
    Inputs inputs(gpu, 1);
    const HostMatrix qkv = inputs.compute(batch.tokens(), 3 * 64, spread),
                     d_context = inputs.compute(batch.tokens(), 64),
                     context = inputs.compute(batch.tokens(), 64),
                     log_sum_exp = inputs.master(batch.tokens(), 1, 1, 5);
    const Dropout dropout{dropped, dropout_step_key(1, 2),
                          dropout_place(3, DropoutSite::kAttention)};
    const int64_t mma_before = emulated_cuda::mma_products,
                  wgmma_before = emulated_cuda::wgmma_products;
    run_on(gpu, [&](Bench& bench) {
      AttentionForward forward;
      forward.qkv = bench.compute(qkv);
      forward.sequences = bench.sequences(batch);
      forward.heads = 1;
      forward.dropout = bench.in_memory(dropout);
      forward.context = bench.compute_output("context", batch.tokens(), 64);
      forward.log_sum_exp = bench.master_output("log_sum_exp", batch.tokens(), 1);
      gpu.attention_forward(Stream::kCompute, forward);
      AttentionBackward backward;
      backward.qkv = forward.qkv;
      backward.context = bench.compute(context);
      backward.d_context = bench.compute(d_context);
      backward.log_sum_exp = bench.master(log_sum_exp);
      backward.sequences = forward.sequences;
      backward.heads = 1;
      backward.dropout = forward.dropout;
      backward.d_qkv = bench.compute_output("d_qkv", batch.tokens(), 3 * 64);
      gpu.attention_backward(Stream::kCompute, backward);
    });
    return {emulated_cuda::mma_products > mma_before, emulated_cuda::wgmma_products > wgmma_before};
  }

  // Returns the kernels chosen after comparing all; `said` receives the messages.
  static Kernels chosen(std::string& said) {
    const std::vector<int32_t> lengths = {70, 3, 64};
    const auto gpu = backend();
    testing::internal::CaptureStderr();
    EXPECT_EQ(attend(*gpu, lengths), kBoth) << "nothing was compared";
    said = testing::internal::GetCapturedStderr();
    return attend(*gpu, lengths);
  }
};

TEST_F(AttentionChoice, ACorrectFasterKernelIsChosenWithoutAMessage) {
  std::string said;
  EXPECT_EQ(chosen(said), kOnlyWgmma);
  EXPECT_EQ(said, "");
}

TEST_F(AttentionChoice, AWrongKernelIsLeftOutHoweverFastItIs) {
  emulated_cuda::wgmma_is_wrong = true;
  std::string said;
  EXPECT_EQ(chosen(said), kOnlyMma);
  EXPECT_THAT(said, HasSubstr("attention by wgmma is not used: its context differs"));
  EXPECT_THAT(said, HasSubstr("attention by wgmma is not used: its query gradient differs"));
  EXPECT_THAT(said, Not(HasSubstr("attention by mma is not used")));
}

TEST_F(AttentionChoice, PlainAttentionSaysWhichOfTwoIsWrong) {
  emulated_cuda::mma_is_wrong = true;
  std::string said;
  EXPECT_EQ(chosen(said), kOnlyWgmma);
  EXPECT_THAT(said, HasSubstr("attention by mma is not used"));
  EXPECT_THAT(said, Not(HasSubstr("attention by wgmma is left out")));
}

TEST_F(AttentionChoice, CudnnIsLeftOutIfItIsWrong) {
  const auto gpu = backend();
  emulated_cuda::cudnn_is_wrong = true;
  emulated_cuda::cudnn_operations = 0;
  testing::internal::CaptureStderr();
  attend(*gpu, {70, 3}, 0.0f);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("attention by cuDNN is not used: its context differs"));
  EXPECT_THAT(said, HasSubstr("attention by cuDNN is not used: its query gradient differs"));
  EXPECT_GT(emulated_cuda::cudnn_operations, 0);
  emulated_cuda::cudnn_operations = 0;
  EXPECT_EQ(attend(*gpu, {70, 3}, 0.0f), kOnlyWgmma);
  EXPECT_EQ(emulated_cuda::cudnn_operations, 0);
}

TEST_F(AttentionChoice, InfiniteResultsDoNotChooseAKernel) {
  const auto gpu = backend();
  const double infinite = std::numeric_limits<double>::infinity();
  testing::internal::CaptureStderr();
  EXPECT_EQ(attend(*gpu, {70}, 0.1f, infinite), kBoth) << "compared";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(attend(*gpu, {70}), kBoth) << "compared again";
  EXPECT_EQ(attend(*gpu, {70}), kOnlyWgmma);
}

TEST_F(AttentionChoice, SmallWorkDoesNotChooseAKernel) {
  const std::vector<int32_t> few = {70}, many = {128};
  const auto gpu = backend(4.0 * 64 * 128 * 128);
  EXPECT_EQ(attend(*gpu, few), kOnlyMma) << "compared nothing, and used mma";
  EXPECT_EQ(attend(*gpu, many), kBoth) << "compared";
  EXPECT_EQ(attend(*gpu, many), kOnlyWgmma);
  EXPECT_EQ(attend(*gpu, few), kOnlyWgmma) << "the choice is kept";
}

}  // namespace
}  // namespace strata::device

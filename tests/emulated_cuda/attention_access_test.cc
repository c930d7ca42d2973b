// Tests the memory accesses of attention's kernels, and prints the counts.
#include <cuda_runtime.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/cuda/cuda_backend.h"
#include "tests/conformance/packed.h"
#include "tests/emulated_cuda/access_counts.h"

namespace strata::device {
namespace {

using cuda::AttentionKernel;
using emulated_cuda::CountsByMemory;

struct Case {
  AttentionKernel kernel;
  int head_size;
};
constexpr int kHeads = 4;

std::string name_of(const Case& c) {
  return fmt::format("{}_heads_of_{}", c.kernel == AttentionKernel::kMma ? "mma" : "wgmma",
                     c.head_size);
}

// Runs an operation with dropout on sequences of several tiles that begin at whole sectors.
class AttentionAccess : public testing::TestWithParam<Case> {
 protected:
  AttentionAccess()
      : gpu_(cuda::make_cuda_backend(DType::kBF16, 0, {.attention = GetParam().kernel})),
        batch_({256, 192}) {
    qkv_ = compute("qkv", 3 * hidden());
    context_ = compute("context", hidden());
    d_context_ = compute("d_context", hidden());
    d_qkv_ = compute("d_qkv", 3 * hidden());
    log_sum_exp_ = {memory("log_sum_exp", batch_.tokens() * kHeads * 4), DType::kF32,
                    batch_.tokens(), kHeads};
    sequences_ = {
        .count = static_cast<int32_t>(batch_.lengths.size()),
        .tokens = static_cast<int32_t>(batch_.tokens()),
        .max_length = batch_.max_length,
        .min_length = 1,
        .cu_seqlens = copied("sequences", batch_.cu_seqlens),
        .sample_ids = copied("sequences", batch_.sample_ids),
    };
  }

  std::vector<CountsByMemory> forward() {
    AttentionForward op;
    op.qkv = qkv_;
    op.sequences = sequences_;
    op.heads = kHeads;
    op.dropout = dropout_;
    op.context = context_;
    op.log_sum_exp = log_sum_exp_;
    emulated_cuda::begin_counting();
    gpu_->attention_forward(Stream::kCompute, op);
    return emulated_cuda::end_counting();
  }
  std::vector<CountsByMemory> backward() {
    AttentionBackward op;
    op.qkv = qkv_;
    op.context = context_;
    op.d_context = d_context_;
    op.log_sum_exp = log_sum_exp_;
    op.sequences = sequences_;
    op.heads = kHeads;
    op.dropout = dropout_;
    op.d_qkv = d_qkv_;
    emulated_cuda::begin_counting();
    gpu_->attention_backward(Stream::kCompute, op);
    return emulated_cuda::end_counting();
  }

  static int64_t hidden() { return kHeads * GetParam().head_size; }

 private:
  void* memory(const char* name, int64_t bytes) {
    void* memory = gpu_->allocate(static_cast<size_t>(bytes));
    emulated_cuda::name_memory(memory, static_cast<size_t>(bytes), name);
    return memory;
  }
  Tensor compute(const char* name, int64_t columns) {
    return {memory(name, batch_.tokens() * columns * 2), DType::kBF16, batch_.tokens(), columns};
  }
  template <typename Value>
  const Value* copied(const char* name, const std::vector<Value>& values) {
    const size_t bytes = values.size() * sizeof(Value);
    auto* place = static_cast<Value*>(memory(name, static_cast<int64_t>(bytes)));
    std::copy(values.begin(), values.end(), place);
    return place;
  }

  std::unique_ptr<Backend> gpu_;
  Packed batch_;
  Tensor qkv_, context_, d_context_, d_qkv_, log_sum_exp_;
  Sequences sequences_;
  Dropout dropout_{0.1f, dropout_step_key(1, 2), dropout_place(3, DropoutSite::kAttention)};
};

void print(const char* operation, const std::vector<CountsByMemory>& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string kernel =
        fmt::format("{} {}, kernel {}", name_of(AttentionAccess::GetParam()), operation, i);
    int64_t wavefronts = 0, sectors = 0;
    for (const auto& [memory, counts] : kernels[i]) {
      fmt::print("{}, {}: {} requests, ", kernel, memory, counts.requests);
      if (counts.parts > 0) {
        fmt::print("{} wavefronts, {} without bank conflicts\n", counts.wavefronts, counts.parts);
      } else {
        fmt::print("{} sectors, at least {}\n", counts.sectors, counts.fewest);
      }
      wavefronts += counts.wavefronts;
      sectors += counts.sectors;
    }
    fmt::print("{}: {} wavefronts, {} sectors\n", kernel, wavefronts, sectors);
  }
}

void expect_no_bank_conflicts(const std::vector<CountsByMemory>& kernels) {
  for (const CountsByMemory& kernel : kernels) {
    int64_t wavefronts = 0;
    for (const auto& [memory, counts] : kernel) {
      EXPECT_EQ(counts.wavefronts, counts.parts) << memory;
      wavefronts += counts.wavefronts;
    }
    EXPECT_GT(wavefronts, 0) << "nothing was counted";
  }
}

TEST_P(AttentionAccess, ForwardHasNoBankConflicts) {
  const auto kernels = forward();
  print("forward", kernels);
  ASSERT_EQ(kernels.size(), 1);
  expect_no_bank_conflicts(kernels);
}

TEST_P(AttentionAccess, BackwardHasNoBankConflictsAndWholeSectorsOfScratch) {
  const auto kernels = backward();
  print("backward", kernels);
  ASSERT_EQ(kernels.size(), 2);
  expect_no_bank_conflicts(kernels);
  for (const CountsByMemory& kernel : kernels) {
    for (const char* scratch : {"scratch 8", "scratch 4", "scratch 1"}) {
      const auto counts = kernel.find(scratch);
      if (counts == kernel.end()) continue;
      EXPECT_EQ(counts->second.sectors, counts->second.fewest) << scratch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, AttentionAccess,
                         testing::Values(Case{AttentionKernel::kMma, 64},
                                         Case{AttentionKernel::kMma, 32},
                                         Case{AttentionKernel::kWgmma, 64}),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace strata::device

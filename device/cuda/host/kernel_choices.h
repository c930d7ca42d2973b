// What the CUDA backend may be told to compute with, instead of what it measures to be fastest:
// device.options in configurations.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace strata::device::cuda {

// bf16 attention, where the size of heads allows it.
enum class AttentionKernel : uint8_t { kFastest, kPlain, kMma, kWgmma, kCudnn };

// Whether GELU, its derivative and bias gradients are part of a GEMM, where they can be.
enum class FusedEpilogues : uint8_t { kFastest, kAlways, kNever };

struct KernelChoices {
  AttentionKernel attention = AttentionKernel::kFastest;
  FusedEpilogues epilogues = FusedEpilogues::kFastest;
  // kFastest compares kernels on work of at least this many floating-point operations: the times of
  // less say little about the batches that matter. No option; tests change it.
  double attention_compared_from = 1e9;
  // Multiprocessors that GEMMs leave free for NCCL's kernels.
  int communication_multiprocessors = 0;
};

// From the options `attention` and `epilogues`, whose values are the enumerators' names in lower
// case, and `communication_multiprocessors`, a number (checked by BackendKind::check_option).
KernelChoices kernel_choices(const std::map<std::string, std::string>& options);

}  // namespace strata::device::cuda

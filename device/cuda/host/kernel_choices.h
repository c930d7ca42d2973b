// Kernels that users may request instead of the fastest measured ones: device.options in
// configurations.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace strata::device::cuda {

// Kernel of bf16 attention, if it supports the head size.
enum class AttentionKernel : uint8_t { kFastest, kPlain, kMma, kWgmma, kCudnn };

// Whether GELU, its derivative and bias gradients are part of a GEMM if possible.
enum class FusedEpilogues : uint8_t { kFastest, kAlways, kNever };

struct KernelChoices {
  AttentionKernel attention = AttentionKernel::kFastest;
  FusedEpilogues epilogues = FusedEpilogues::kFastest;
  // kFastest compares kernels on work of at least this many floating-point operations, because
  // times of smaller work say little about large batches. Not an option; tests change it.
  double attention_compared_from = 1e9;
  // Multiprocessors that GEMMs leave to NCCL's kernels.
  int communication_multiprocessors = 0;
};

// Reads the options `attention` and `epilogues`, whose values are the enumerators' names in lower
// case, and `communication_multiprocessors`, a number. Requires options checked by
// BackendKind::check_option.
KernelChoices kernel_choices(const std::map<std::string, std::string>& options);

}  // namespace strata::device::cuda

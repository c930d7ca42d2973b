#include "tests/conformance/backends.h"

namespace strata::device {

// A vendor's backend is one more line.
std::vector<BackendOptions> tested_backends() {
  return {
      {.name = "reference", .compute_dtype = DType::kF64},
      {.name = "cpu", .compute_dtype = DType::kF32},
      {.name = "cpu", .compute_dtype = DType::kBF16},
#ifdef STRATA_CUDA
      {.name = "cuda", .compute_dtype = DType::kF32},
      {.name = "cuda", .compute_dtype = DType::kBF16},
#endif
  };
}

std::vector<BackendOptions> tested_attention() {
#ifdef STRATA_CUDA
  return with_every_attention(tested_backends(), "cuda");
#else
  return tested_backends();
#endif
}

std::vector<BackendOptions> tested_linear() {
  std::vector<BackendOptions> backends = tested_backends();
#ifdef STRATA_CUDA
  for (const auto epilogues : {FusedEpilogues::kAlways, FusedEpilogues::kNever}) {
    backends.push_back({.name = "cuda", .compute_dtype = DType::kBF16, .epilogues = epilogues});
  }
#endif
  return backends;
}

std::unique_ptr<Backend> make_tested_backend(const BackendOptions& options) {
  return make_backend(options);
}

}  // namespace strata::device

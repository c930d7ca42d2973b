#include "tests/conformance/backends.h"

namespace strata::device {

std::vector<BackendOptions> tested_backends() {
  std::vector<BackendOptions> tested;
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.make) continue;
    for (const DType dtype : kind.compute_dtypes) {
      tested.push_back({.name = kind.name, .compute_dtype = dtype});
    }
  }
  return tested;
}

std::vector<BackendOptions> tested_attention() {
  std::vector<BackendOptions> tested = tested_backends();
  for (const BackendKind& kind : backend_kinds()) {
    if (kind.make && kind.chooses_kernels) tested = with_every_attention(tested, kind.name);
  }
  return tested;
}

std::vector<BackendOptions> tested_linear() {
  std::vector<BackendOptions> tested = tested_backends();
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.make || !kind.chooses_kernels) continue;
    for (const auto epilogues : {FusedEpilogues::kAlways, FusedEpilogues::kNever}) {
      tested.push_back({.name = kind.name, .compute_dtype = DType::kBF16, .epilogues = epilogues});
    }
  }
  return tested;
}

std::unique_ptr<Backend> make_tested_backend(const BackendOptions& options) {
  return make_backend(options);
}

}  // namespace strata::device

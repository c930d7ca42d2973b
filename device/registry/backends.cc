#include "device/registry/backends.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/cpu_backend.h"
#include "device/reference/reference_backend.h"
#ifdef STRATA_CUDA
#include "device/cuda/cuda_backend.h"
#endif

namespace strata::device {
namespace {

BackendKind cpu_kind() {
  return {.name = "cpu",
          .meaning = "oneDNN and vector instructions",
          .compute_dtypes = {DType::kF32, DType::kBF16},
          .bf16_is_native = cpu::bf16_is_native,
          .make = [](const BackendOptions& options) {
            return cpu::make_cpu_backend(options.compute_dtype, options.threads);
          }};
}

BackendKind cuda_kind() {
  BackendKind cuda{.name = "cuda",
                   .meaning = "an NVIDIA GPU; builds with the CUDA toolkit",
                   .compute_dtypes = {DType::kF32, DType::kBF16},
                   .float8_tokens = 16,
                   .keeps_work = true,
                   .chooses_kernels = true};
#ifdef STRATA_CUDA
  cuda.make = [](const BackendOptions& options) {
    return cuda::make_cuda_backend(options.compute_dtype, options.device, options.attention,
                                   options.epilogues);
  };
#endif
  return cuda;
}

BackendKind reference_kind() {
  return {.name = "reference",
          .meaning = "plain loops in double, for tests",
          .compute_dtypes = {DType::kF64},
          .make = [](const BackendOptions&) { return make_reference_backend(); }};
}

}  // namespace

bool BackendKind::computes_in(DType dtype) const {
  return std::ranges::find(compute_dtypes, dtype) != compute_dtypes.end();
}

std::string BackendKind::dtypes() const {
  std::vector<const char*> names;
  for (const DType dtype : compute_dtypes) names.push_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

const std::vector<BackendKind>& backend_kinds() {
  static const std::vector<BackendKind> kinds = {cpu_kind(), cuda_kind(), reference_kind()};
  return kinds;
}

const BackendKind& find_backend(std::string_view name) {
  std::vector<const char*> names;
  for (const BackendKind& kind : backend_kinds()) {
    if (kind.name == name) return kind;
    names.push_back(kind.name);
  }
  fail("backend {}: there is none of that name; choose of {}", name, fmt::join(names, ", "));
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const BackendKind& kind = find_backend(options.name);
  if (!kind.make) fail("backend {}: not in this build; choose another", kind.name);
  if (!kind.computes_in(options.compute_dtype)) {
    fail("backend {}: computes in {}, not in {}", kind.name, kind.dtypes(),
         name_of(options.compute_dtype));
  }
  return kind.make(options);
}

}  // namespace strata::device

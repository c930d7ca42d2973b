#include "device/registry/backends.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "device/cpu/cpu_backend.h"
#include "device/reference/reference_backend.h"
#include "device/sample/sample_backend.h"
#ifdef STRATA_CUDA
#include "device/cuda/cuda_backend.h"
#include "device/cuda/host/kernel_choices.h"
#endif

namespace strata::device {
namespace {

template <typename Named>
std::vector<std::string_view> names_of(const std::vector<Named>& all) {
  std::vector<std::string_view> names;
  for (const Named& each : all) names.push_back(each.name);
  return names;
}

BackendKind cpu_kind() {
  return {.name = "cpu",
          .meaning = "oneDNN and vector instructions",
          .compute_dtypes = {DType::kF32, DType::kBF16, DType::kF16},
          .bf16_is_native = cpu::bf16_is_native,
          .make = [](const BackendOptions& options) {
            return cpu::make_cpu_backend(options.compute_dtype, options.threads);
          }};
}

BackendOption attention_option() {
  return {.name = "attention",
          .meaning = "The kernel of bf16 attention.",
          .values = {
              {"fastest", "the fastest of the others, measured when it first runs"},
              {"plain", "one warp per query, to check the other kernels"},
              {"mma", "tensor cores, heads of 32 or 64 units"},
              {"wgmma", "Hopper's tensor cores for heads of 64 units, else `mma`"},
              {"cudnn", "cuDNN where there is no dropout, as in evaluations; else as `fastest`"}}};
}

BackendOption epilogues_option() {
  return {.name = "epilogues",
          .meaning =
              "Whether bf16 GEMMs also compute the operation that follows (GELU, its derivative, "
              "bias gradients).",
          .values = {{"fastest", "if measured faster"},
                     {"always", "if cuBLASLt can"},
                     {"never", "separate kernels"}}};
}

BackendOption communication_multiprocessors_option() {
  return {.name = "communication_multiprocessors",
          .meaning = "Number of multiprocessors that GEMMs leave to NCCL's kernels.",
          .most = 64};
}

BackendKind cuda_kind() {
  BackendKind cuda{
      .name = "cuda",
      .meaning = "an NVIDIA GPU, if Strata was built with the CUDA toolkit",
      .compute_dtypes = {DType::kF32, DType::kBF16, DType::kF16},
      .float8_tokens = 16,
      .captures_graphs = true,
      .memory_is_host = false,
      .options = {attention_option(), epilogues_option(), communication_multiprocessors_option()}};
#ifdef STRATA_CUDA
  cuda.make = [](const BackendOptions& options) {
    return cuda::make_cuda_backend(options.compute_dtype, options.device,
                                   cuda::kernel_choices(options.options));
  };
#endif
  cuda.how_to_get =
      "build Strata where the CUDA toolkit is (nvcc on the PATH, or CUDA_HOME set) with 'cmake "
      "--preset release -DSTRATA_CUDA=ON && cmake --build --preset release', see docs/cuda.md";
  return cuda;
}

BackendKind reference_kind() {
  return {.name = "reference",
          .meaning = "plain loops in double, for tests",
          .compute_dtypes = {DType::kF64},
          .make = [](const BackendOptions&) { return make_reference_backend(); }};
}

BackendKind sample_kind() {
  return {.name = "sample",
          .meaning = "plain loops in fp32, to start a port from",
          .compute_dtypes = {DType::kF32},
          .make = [](const BackendOptions&) { return sample::make_sample_backend(); }};
}

}  // namespace

bool BackendKind::computes_in(DType dtype) const {
  return std::ranges::find(compute_dtypes, dtype) != compute_dtypes.end();
}

void BackendKind::check_option(const std::string& option, const std::string& value) const {
  const auto found = std::ranges::find(options, option, &BackendOption::name);
  if (found == options.end()) {
    fail("the {} backend has no option {}{}", name, option,
         options.empty() ? "; it has none at all"
                         : fmt::format("; it has {}", fmt::join(names_of(options), ", ")));
  }
  if (found->values.empty()) {
    int number = 0;
    const char* end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || rest != end || number < 0 || number > found->most) {
      fail("{}: {} is not a whole number from 0 to {}", option, value, found->most);
    }
    return;
  }
  const std::vector<std::string_view> values = names_of(found->values);
  if (std::ranges::find(values, value) == values.end()) {
    fail("{} is not a value of {}; choose one of {}", value, option, fmt::join(values, ", "));
  }
}

void BackendKind::check_is_built() const {
  if (make) return;
  fail("backend {}: not in this build; {}, or choose another device.backend", name, how_to_get);
}

std::string BackendKind::dtypes() const {
  std::vector<const char*> names;
  for (const DType dtype : compute_dtypes) names.push_back(name_of(dtype));
  return fmt::format("{}", fmt::join(names, ", "));
}

const std::vector<BackendKind>& backend_kinds() {
  static const std::vector<BackendKind> kinds = {cpu_kind(), cuda_kind(), reference_kind(),
                                                 sample_kind()};
  return kinds;
}

const BackendKind& find_backend(std::string_view name) {
  for (const BackendKind& kind : backend_kinds()) {
    if (kind.name == name) return kind;
  }
  fail("backend {}: there is no such backend; choose one of {}", name,
       fmt::join(names_of(backend_kinds()), ", "));
}

std::unique_ptr<Backend> make_backend(const BackendOptions& options) {
  const BackendKind& kind = find_backend(options.name);
  kind.check_is_built();
  if (!kind.computes_in(options.compute_dtype)) {
    fail("backend {}: computes in {}, not in {}; choose another model.precision", kind.name,
         kind.dtypes(), name_of(options.compute_dtype));
  }
  for (const auto& [option, value] : options.options) kind.check_option(option, value);
  return kind.make(options);
}

}  // namespace strata::device

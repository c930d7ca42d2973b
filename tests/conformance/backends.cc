#include "tests/conformance/backends.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace strata::device {
namespace {

bool has_option(const BackendKind& kind, std::string_view name) {
  return std::ranges::find(kind.options, name, &BackendOption::name) != kind.options.end();
}

}  // namespace

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
    if (kind.make && has_option(kind, "attention"))
      tested = with_every_attention(tested, kind.name);
  }
  return tested;
}

std::vector<BackendOptions> tested_linear() {
  std::vector<BackendOptions> tested = tested_backends();
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.make || !has_option(kind, "epilogues")) continue;
    for (const char* epilogues : {"always", "never"}) {
      tested.push_back({.name = kind.name,
                        .compute_dtype = DType::kBF16,
                        .options = {{"epilogues", epilogues}}});
    }
  }
  return tested;
}

std::unique_ptr<Backend> make_tested_backend(const BackendOptions& options) {
  BackendOptions chosen = options;
  const char* attention = std::getenv("STRATA_TEST_ATTENTION");
  if (attention && has_option(find_backend(options.name), "attention")) {
    chosen.options.emplace("attention", attention);
  }
  return make_backend(chosen);
}

}  // namespace strata::device

// The backends that the conformance suite tests.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <vector>

#include "base/error.h"
#include "device/backend.h"
#include "device/registry/backends.h"

namespace strata::device {

// Backends of this program.
std::vector<BackendOptions> tested_backends();
// The same with each implementation of attention, or with and without fused epilogues.
std::vector<BackendOptions> tested_attention();
std::vector<BackendOptions> tested_linear();
// If `options` choose no implementation of attention, the environment may:
// STRATA_TEST_ATTENTION=mma.
std::unique_ptr<Backend> make_tested_backend(const BackendOptions& options);

// Returns `backends`, and the GPU backend `name` with each of its implementations of attention.
inline std::vector<BackendOptions> with_every_attention(std::vector<BackendOptions> backends,
                                                        const char* name) {
  for (const char* kernel : {"plain", "mma", "wgmma", "cudnn"}) {
    backends.push_back(
        {.name = name, .compute_dtype = DType::kBF16, .options = {{"attention", kernel}}});
  }
  return backends;
}

// A test of one backend; skips with the reason if this machine cannot run it.
class Conformance : public testing::TestWithParam<BackendOptions> {
 protected:
  void SetUp() override {
    try {
      backend_ = make_tested_backend(GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Backend& backend() { return *backend_; }

 private:
  std::unique_ptr<Backend> backend_;
};

// A test of an optional operation; skips if the backend lacks it.
template <Operation kOperation, typename Base = Conformance>
class ConformanceOf : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    const Backend& backend = this->backend();
    if (this->IsSkipped() || backend.supports(kOperation, backend.compute_dtype())) return;
    GTEST_SKIP() << "this backend has no " << entry_of(kOperation).without;
  }
};

inline std::string name_of(const BackendOptions& options) {
  std::string name = fmt::format("{}_{}", options.name, name_of(options.compute_dtype));
  for (const auto& [option, value] : options.options) name += fmt::format("_{}", value);
  return name;
}

inline void PrintTo(const BackendOptions& options, std::ostream* out) { *out << name_of(options); }

inline std::string name_of_backend(const testing::TestParamInfo<BackendOptions>& info) {
  return name_of(info.param);
}

}  // namespace strata::device

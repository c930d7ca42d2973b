#include "device/registry/backends.h"

#include "base/error.h"
#include "device/backend.h"
#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::device {
namespace {

using testing_support::error_of;

TEST(Backends, MatchTheDescriptionsOfTheirKinds) {
  for (const BackendKind& kind : backend_kinds()) {
    if (!kind.make) continue;
    for (const DType dtype : kind.compute_dtypes) {
      std::unique_ptr<Backend> backend;
      try {
        backend = make_backend({.name = kind.name, .compute_dtype = dtype});
      } catch (const Error&) {
        continue;  // this machine lacks its device
      }
      EXPECT_EQ(backend->name(), kind.name);
      EXPECT_EQ(backend->compute_dtype(), dtype) << kind.name;
      EXPECT_EQ(backend->capture([] {}) != nullptr, kind.captures_graphs) << kind.name;
      EXPECT_EQ(backend->memory_is_host(), kind.memory_is_host) << kind.name;
    }
  }
}

TEST(Backends, AreFoundByName) {
  EXPECT_STREQ(find_backend("reference").name, "reference");
  const std::string error = error_of([] { find_backend("gpu"); });
  EXPECT_EQ(
      error.find(
          "backend gpu: there is no such backend; choose one of cpu, cuda, reference, sample"),
      0u)
      << error;
}

TEST(Backends, ComputeInSomeDTypes) {
  const BackendKind& cpu = find_backend("cpu");
  EXPECT_TRUE(cpu.computes_in(DType::kF32));
  EXPECT_FALSE(cpu.computes_in(DType::kF64));
  EXPECT_EQ(cpu.dtypes(), "f32, bf16, f16");
  EXPECT_EQ(error_of([] { make_backend({.name = "cpu", .compute_dtype = DType::kF64}); }),
            "backend cpu: computes in f32, bf16, f16, not in f64; choose another model.precision");
}

TEST(Backends, ABackendThatIsNotInThisBuildNamesARemedy) {
  BackendKind cuda = find_backend("cuda");
  cuda.make = nullptr;
  const std::string error = error_of([&] { cuda.check_is_built(); });
  EXPECT_THAT(error,
              HasSubstr("backend cuda: not in this build; build Strata where the CUDA toolkit is"));
  EXPECT_THAT(error, HasSubstr("docs/cuda.md"));
  EXPECT_NO_THROW(find_backend("cpu").check_is_built());
}

}  // namespace
}  // namespace strata::device

#include "device/sample/sample_backend.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/registry/backends.h"
#include "tests/support/error_of.h"

namespace strata::device {
namespace {

using testing_support::error_of;

// The stub in docs/porting.md: AcmeBackend and acme_kind().
#include "porting_stub.inc"

TEST(SampleBackend, APortOverridesOneOperationAfterAnother) {
  const BackendKind kind = acme_kind();
  EXPECT_EQ(kind.name, "acme");
  const auto made = kind.make({});
  Backend& acme = *made;
  EXPECT_EQ(acme.name(), "acme");
  EXPECT_EQ(error_of([&] { acme.linear_forward(Stream::kCompute, {}); }),
            "acme: linear_forward is not there yet");
  float x[2] = {1, 2}, y[2] = {};
  acme.convert(Stream::kCompute,
               {ConstTensor(x, DType::kF32, 1, 2), 3.0f, Tensor{y, DType::kF32, 1, 2}});
  EXPECT_EQ(y[0], 3);
  EXPECT_EQ(y[1], 6);
}

TEST(SampleBackend, UnsupportedOperationsAreReportedAsSuch) {
  const auto backend = sample::make_sample_backend();
  EXPECT_FALSE(backend->supports(Operation::kRoundToFloat8, DType::kE4M3));
  EXPECT_FALSE(backend->supports(Operation::kLinearForward, DType::kE4M3));
  EXPECT_FALSE(backend->supports(Operation::kResidualAddForward, DType::kF32));
  EXPECT_TRUE(backend->supports(Operation::kStandardizationLoss, DType::kF32));
  EXPECT_FALSE(backend->has_collectives());
  EXPECT_FALSE(backend->accelerator());
  EXPECT_EQ(backend->capture([] { FAIL() << "nothing is issued"; }), nullptr);
  EXPECT_EQ(error_of([&] { backend->round_to_float8(Stream::kCompute, {}); }),
            "the sample backend has no FP8; use another model.precision");
  EXPECT_EQ(error_of([&] { backend->require(Operation::kResidualAddForward, DType::kF32); }),
            "sample, plain loops in f32, one thread: has no pre-LN; use model.norm post");
}

TEST(SampleBackend, RangesOfOtherDTypesAreRefused) {
  double x = 1;
  float y = 0;
  EXPECT_EQ(error_of([&] {
              sample::make_sample_backend()->convert(
                  Stream::kCompute,
                  {ConstTensor(&x, DType::kF64, 1, 1), 1.0f, Tensor{&y, DType::kF32, 1, 1}});
            }),
            "sample: a range of f64 is not supported; use f32, bf16 or f16");
}

}  // namespace
}  // namespace strata::device

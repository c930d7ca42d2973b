#include "device/reference/reference_backend.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/registry/backends.h"
#include "tests/device/reference/finite_differences.h"
#include "tests/support/error_of.h"

namespace strata::device::reference {
namespace {

using testing_support::error_of;

TEST(ReferenceBackend, ComputesInDouble) {
  const auto backend = make_backend({.name = "reference", .compute_dtype = DType::kF64});
  EXPECT_EQ(backend->name(), "reference");
  EXPECT_EQ(backend->compute_dtype(), DType::kF64);
  EXPECT_EQ(backend->master_dtype(), DType::kF64);
  EXPECT_THROW(make_backend({.name = "reference", .compute_dtype = DType::kBF16}), Error);
}

TEST(ReferenceBackend, AShapeThatDoesNotFitIsNamed) {
  const auto backend = make_reference_backend();
  Values x(6), weight(8), bias(4), y(8);
  LinearForward op{matrix(x, 2), matrix(weight, 4), vector(bias), {}, {}, matrix(y, 2)};
  EXPECT_EQ(error_of([&] { backend->linear_forward(Stream::kCompute, op); }),
            "reference linear_forward: x is [2, 3], expected [2, 2]");
}

TEST(ReferenceBackend, ADTypeThatDoesNotFitIsNamed) {
  const auto backend = make_reference_backend();
  Values x(4), weight(8), bias(4), y(8);
  LinearForward op{matrix(x, 2), matrix(weight, 4), vector(bias), {}, {}, matrix(y, 2)};
  op.bias.dtype = DType::kF32;
  EXPECT_EQ(error_of([&] { backend->linear_forward(Stream::kCompute, op); }),
            "reference linear_forward: bias is f32, expected f64");
  op.bias = ConstTensor(nullptr, DType::kF64, 1, 4);
  EXPECT_EQ(error_of([&] { backend->linear_forward(Stream::kCompute, op); }),
            "reference linear_forward: bias is absent");
}

TEST(ReferenceBackend, SequencesThatDoNotCoverTheTokensAreAnError) {
  const auto backend = make_reference_backend();
  Values qkv(5 * 6), context(5 * 2), log_sum_exp(5);
  const PackedSequences sequences({1, 3});
  const AttentionForward op{matrix(qkv, 5),        sequences.view(), 1, {}, matrix(context, 5), {},
                            matrix(log_sum_exp, 5)};
  EXPECT_EQ(error_of([&] { backend->attention_forward(Stream::kCompute, op); }),
            "reference attention_forward: expected that sequences.tokens is the number of rows");
}

TEST(ReferenceBackend, AnImpossibleAllocationIsAnError) {
  const auto backend = make_reference_backend();
  EXPECT_THROW(backend->allocate(SIZE_MAX), Error);
  EXPECT_THROW(backend->allocate(SIZE_MAX - 63), Error);
}

}  // namespace
}  // namespace strata::device::reference

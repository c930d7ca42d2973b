#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kHidden = 6;
constexpr float kScale = 0.25f;

struct Standardized {
  explicit Standardized(StandardizationAxis axis_, int64_t tokens_ = 7, int64_t rows_ = 5)
      : axis(axis_), tokens(tokens_), rows(rows_), x(random_values(tokens * kHidden, 1)) {}

  StandardizationLoss op() {
    const int64_t size = axis == StandardizationAxis::kUnit ? kHidden : tokens;
    mean.assign(size, 5.0);
    slope.assign(size, 5.0);
    return {.x = matrix(x, tokens),
            .rows = static_cast<int32_t>(rows),
            .axis = axis,
            .gradient_scale = kScale,
            .mean = vector(mean),
            .slope = vector(slope),
            .totals = &totals};
  }
  // The loss whose gradient is tested.
  double loss() {
    totals = {};
    standardization_loss(op());
    return kScale * kHidden * totals.loss;
  }
  StandardizationGradient gradient() {
    const StandardizationLoss loss = op();
    standardization_loss(loss);
    return {axis, loss.mean, loss.slope, loss.gradient_scale, loss.rows};
  }

  StandardizationAxis axis;
  int64_t tokens, rows;
  Values x, mean, slope;
  LossTotals totals;
};

// Returns the gradient of x only, through an operation that passes it on unchanged.
Values gradient_of(Standardized& standardized) {
  Values zero(standardized.x.size()), ones(kHidden, 1.0), d_x(zero.size());
  Values d_gamma(kHidden), d_beta(kHidden);
  ResidualLayerNormBackward op;
  op.dy = matrix(zero, standardized.tokens);
  op.normalized = matrix(standardized.x, standardized.tokens);
  op.gamma = vector(ones);
  op.normalize = false;
  op.standardization = standardized.gradient();
  op.d_x = matrix(d_x, standardized.tokens);
  op.d_gamma = vector(d_gamma);
  op.d_beta = vector(d_beta);
  residual_layernorm_backward(op);
  return d_x;
}

class StandardizationLossOnEveryAxis : public testing::TestWithParam<StandardizationAxis> {};

TEST_P(StandardizationLossOnEveryAxis, HasTheFormulasValue) {
  Standardized standardized(GetParam(), 2, 2);
  // Units have means 0 and variances 1, 4, 9, ...; tokens have the same numbers, shifted from 0.
  for (int64_t h = 0; h < kHidden; ++h) {
    standardized.x[h] = static_cast<double>(h + 1);
    standardized.x[kHidden + h] = -static_cast<double>(h + 1);
  }
  standardized.loss();
  double expected = 0;
  if (GetParam() == StandardizationAxis::kUnit) {
    for (int h = 1; h <= 6; ++h) expected += (h * h - std::log(h * h) - 1) / 2.0 / 6;
  } else {
    const double mean = 3.5, variance = 35.0 / 12;
    expected = (mean * mean + variance - std::log(variance) - 1) / 2;
  }
  EXPECT_NEAR(standardized.totals.loss, 2 * expected, 1e-12);
  EXPECT_EQ(standardized.totals.count, 2);
  EXPECT_EQ(standardized.totals.correct, 0);
}

TEST_P(StandardizationLossOnEveryAxis, LossAndGradientAreZeroIfMeanIsZeroAndVarianceOne) {
  Standardized standardized(GetParam(), 6, 6);
  for (int64_t t = 0; t < 6; ++t) {
    for (int64_t h = 0; h < kHidden; ++h) {
      standardized.x[t * kHidden + h] = (t + h) % 2 == 0 ? 1 : -1;
    }
  }
  EXPECT_EQ(standardized.loss(), 0);
  for (const double value : gradient_of(standardized)) EXPECT_EQ(value, 0);
}

TEST_P(StandardizationLossOnEveryAxis, GradientIsTheDerivativeEvenIfSomeRowsDoNotCount) {
  Standardized standardized(GetParam());
  const Values gradient = gradient_of(standardized);
  expect_gradient("x", gradient,
                  numeric_gradient(standardized.x, [&] { return standardized.loss(); }));
  for (int64_t i = standardized.rows * kHidden; i < std::ssize(gradient); ++i) {
    EXPECT_EQ(gradient[i], 0) << i;
  }
}

TEST_P(StandardizationLossOnEveryAxis, GradientIsTheDerivativeBelowTheLeastVariance) {
  Standardized standardized(GetParam(), 6, 6);
  for (double& value : standardized.x) value = 0.3 + 5e-4 * value;
  // The loss is so steep that rounding is 1e-5 of the largest gradient.
  const Values gradient = gradient_of(standardized),
               numeric = numeric_gradient(standardized.x, [&] { return standardized.loss(); });
  double largest = 0;
  for (const double value : numeric) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], numeric[i], 1e-5 * largest) << i;
  }
}

TEST_P(StandardizationLossOnEveryAxis, NoRowsGiveNoLossAndNoGradient) {
  Standardized standardized(GetParam(), 3, 0);
  EXPECT_EQ(standardized.loss(), 0);
  EXPECT_EQ(standardized.totals.count, 0);
  for (const double value : gradient_of(standardized)) EXPECT_EQ(value, 0);
}

TEST_P(StandardizationLossOnEveryAxis, GradientIsAddedAfterGainAndDropout) {
  const PackedSequences sequences{{1, 4, 2}};
  Standardized sum(GetParam());
  Values x = random_values(7 * kHidden, 2), residual = random_values(7 * kHidden, 3);
  Values gamma = random_values(kHidden, 4), beta = random_values(kHidden, 5);
  Values dy = random_values(7 * kHidden, 6), y(dy.size());
  const auto loss = [&] {
    residual_layernorm_forward({.x = matrix(x, 7),
                                .residual = matrix(residual, 7),
                                .gamma = vector(gamma),
                                .beta = vector(beta),
                                .normalize = false,
                                .dropout = kSomeDropout,
                                .sequences = sequences.view(),
                                .normalized = matrix(sum.x, 7),
                                .y = matrix(y, 7)});
    return dot(dy, y) + sum.loss();
  };
  loss();
  Values d_x(dy.size()), d_residual(dy.size()), d_gamma(kHidden), d_beta(kHidden);
  residual_layernorm_backward({.dy = matrix(dy, 7),
                               .normalized = matrix(sum.x, 7),
                               .gamma = vector(gamma),
                               .normalize = false,
                               .standardization = sum.gradient(),
                               .dropout = kSomeDropout,
                               .sequences = sequences.view(),
                               .d_x = matrix(d_x, 7),
                               .d_residual = matrix(d_residual, 7),
                               .d_gamma = vector(d_gamma),
                               .d_beta = vector(d_beta)});
  expect_gradient("d_x", d_x, numeric_gradient(x, loss));
  expect_gradient("d_residual", d_residual, numeric_gradient(residual, loss));
  expect_gradient("d_gamma", d_gamma, numeric_gradient(gamma, loss));
  expect_gradient("d_beta", d_beta, numeric_gradient(beta, loss));
}

TEST_P(StandardizationLossOnEveryAxis, IsAddedToTheGradientOfEmbeddings) {
  const PackedSequences sequences{{1, 4, 2}};
  Standardized sum(GetParam());
  const std::vector<int32_t> tokens = {2, 0, 3, 3, 1, 2, 2}, segments = {0, 0, 0, 1, 1, 0, 1},
                             positions = {0, 0, 1, 2, 3, 0, 1};
  Values word = random_values(4 * kHidden, 2), position = random_values(4 * kHidden, 3);
  Values segment = random_values(2 * kHidden, 4);
  Values gamma = random_values(kHidden, 5), beta = random_values(kHidden, 6);
  Values dy = random_values(7 * kHidden, 7), y(dy.size());
  const auto loss = [&] {
    embeddings_forward({.token_ids = tokens.data(),
                        .segment_ids = segments.data(),
                        .positions = positions.data(),
                        .sequences = sequences.view(),
                        .word = matrix(word, 4),
                        .position = matrix(position, 4),
                        .segment = matrix(segment, 2),
                        .gamma = vector(gamma),
                        .beta = vector(beta),
                        .normalize = false,
                        .dropout = kSomeDropout,
                        .normalized = matrix(sum.x, 7),
                        .y = matrix(y, 7)});
    return dot(dy, y) + sum.loss();
  };
  loss();
  Values d_word(word.size()), d_position(position.size()), d_segment(segment.size());
  Values d_gamma(kHidden), d_beta(kHidden);
  embeddings_backward({.token_ids = tokens.data(),
                       .segment_ids = segments.data(),
                       .positions = positions.data(),
                       .sequences = sequences.view(),
                       .dy = matrix(dy, 7),
                       .normalized = matrix(sum.x, 7),
                       .gamma = vector(gamma),
                       .normalize = false,
                       .standardization = sum.gradient(),
                       .dropout = kSomeDropout,
                       .d_word = matrix(d_word, 4),
                       .d_position = matrix(d_position, 4),
                       .d_segment = matrix(d_segment, 2),
                       .d_gamma = vector(d_gamma),
                       .d_beta = vector(d_beta)});
  expect_gradient("d_word", d_word, numeric_gradient(word, loss));
  expect_gradient("d_position", d_position, numeric_gradient(position, loss));
  expect_gradient("d_segment", d_segment, numeric_gradient(segment, loss));
  expect_gradient("d_gamma", d_gamma, numeric_gradient(gamma, loss));
  expect_gradient("d_beta", d_beta, numeric_gradient(beta, loss));
}

INSTANTIATE_TEST_SUITE_P(Axes, StandardizationLossOnEveryAxis,
                         testing::Values(StandardizationAxis::kUnit, StandardizationAxis::kToken),
                         [](const auto& test) {
                           return test.param == StandardizationAxis::kUnit ? "Units" : "Tokens";
                         });

TEST(StandardizationLoss, IsRefusedTogetherWithLayerNorm) {
  Standardized standardized(StandardizationAxis::kUnit);
  Values ones(kHidden, 1.0), d_x(standardized.x.size()), inverse_stddev(7, 1.0);
  Values d_gamma(kHidden), d_beta(kHidden);
  EXPECT_THROW(residual_layernorm_backward({.dy = matrix(standardized.x, 7),
                                            .normalized = matrix(standardized.x, 7),
                                            .inverse_stddev = vector(inverse_stddev),
                                            .gamma = vector(ones),
                                            .standardization = standardized.gradient(),
                                            .d_x = matrix(d_x, 7),
                                            .d_gamma = vector(d_gamma),
                                            .d_beta = vector(d_beta)}),
               Error);
}

}  // namespace
}  // namespace strata::device::reference

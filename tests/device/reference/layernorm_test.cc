#include <gtest/gtest.h>

#include "device/plain/layer_norm.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

constexpr int64_t kHidden = 6;
constexpr float kScale = 1.25f;

struct ResidualLayerNorm {
  double loss() {
    residual_layernorm_forward({.x = matrix(x, tokens),
                                .residual = matrix(residual, tokens),
                                .scale = scale,
                                .gamma = vector(gamma),
                                .beta = vector(beta),
                                .epsilon = 1e-3f,
                                .dropout = kSomeDropout,
                                .sequences = sequences.view(),
                                .normalized = matrix(normalized, tokens),
                                .inverse_stddev = vector(inverse_stddev),
                                .sum = matrix(sum, tokens),
                                .y = matrix(y, tokens)});
    return dot(dy, y) + dot(d_sum, sum);
  }

  PackedSequences sequences{{1, 4, 2}};
  int64_t tokens = 7;
  float scale = kScale;
  Values x = random_values(tokens * kHidden, 1), residual = random_values(tokens * kHidden, 2);
  Values gamma = random_values(kHidden, 3), beta = random_values(kHidden, 4);
  Values dy = random_values(tokens * kHidden, 5), y = Values(tokens * kHidden);
  Values d_sum = random_values(tokens * kHidden, 6), sum = Values(tokens * kHidden);
  Values normalized = y, inverse_stddev = Values(tokens);
};

TEST(ResidualLayerNorm, BackwardIsTheDerivativeOfForward) {
  ResidualLayerNorm layer;
  layer.loss();
  Values d_x(layer.x.size()), d_residual(layer.x.size());
  Values d_gamma(kHidden, 3.0), d_beta(kHidden, 4.0);
  residual_layernorm_backward({.dy = matrix(layer.dy, layer.tokens),
                               .d_sum = matrix(layer.d_sum, layer.tokens),
                               .normalized = matrix(layer.normalized, layer.tokens),
                               .inverse_stddev = vector(layer.inverse_stddev),
                               .gamma = vector(layer.gamma),
                               .scale = kScale,
                               .dropout = kSomeDropout,
                               .sequences = layer.sequences.view(),
                               .d_x = matrix(d_x, layer.tokens),
                               .d_residual = matrix(d_residual, layer.tokens),
                               .accumulate = true,
                               .d_gamma = vector(d_gamma),
                               .d_beta = vector(d_beta)});
  for (double& value : d_gamma) value -= 3;
  for (double& value : d_beta) value -= 4;
  const auto loss = [&] { return layer.loss(); };
  expect_gradient("d_x", d_x, numeric_gradient(layer.x, loss));
  expect_gradient("d_residual", d_residual, numeric_gradient(layer.residual, loss));
  expect_gradient("d_gamma", d_gamma, numeric_gradient(layer.gamma, loss));
  expect_gradient("d_beta", d_beta, numeric_gradient(layer.beta, loss));
}

TEST(ResidualLayerNorm, DropoutActsOnXByPositionInTheSample) {
  ResidualLayerNorm layer;
  layer.scale = 1;
  layer.loss();
  const Values y = layer.y;
  const int32_t* starts = layer.sequences.view().cu_seqlens;
  for (int32_t b = 0; b < 3; ++b) {
    for (int32_t t = starts[b]; t < starts[b + 1]; ++t) {
      for (int64_t h = 0; h < kHidden; ++h) {
        layer.x[t * kHidden + h] *= dropout_factor(kSomeDropout, 100 + b, t - starts[b], h);
      }
    }
  }
  residual_layernorm_forward({.x = matrix(layer.x, 7),
                              .residual = matrix(layer.residual, 7),
                              .gamma = vector(layer.gamma),
                              .beta = vector(layer.beta),
                              .epsilon = 1e-3f,
                              .y = matrix(layer.y, 7)});
  EXPECT_EQ(layer.y, y);
}

TEST(ResidualAdd, BackwardIsTheDerivativeOfForward) {
  const PackedSequences sequences{{1, 4, 2}};
  constexpr int64_t kTokens = 7;
  Values x = random_values(kTokens * kHidden, 1), residual = random_values(kTokens * kHidden, 2);
  Values dy = random_values(kTokens * kHidden, 3), y(dy.size()), d_x(dy.size());
  residual_add_backward({.dy = matrix(dy, kTokens),
                         .scale = kScale,
                         .dropout = kSomeDropout,
                         .sequences = sequences.view(),
                         .d_x = matrix(d_x, kTokens)});
  const auto loss = [&] {
    residual_add_forward({.x = matrix(x, kTokens),
                          .residual = matrix(residual, kTokens),
                          .scale = kScale,
                          .dropout = kSomeDropout,
                          .sequences = sequences.view(),
                          .y = matrix(y, kTokens)});
    return dot(dy, y);
  };
  expect_gradient("d_x", d_x, numeric_gradient(x, loss));
  expect_gradient("the residual's", dy, numeric_gradient(residual, loss));
}

TEST(Normalize, RowGetsZeroMeanAndUnitVariance) {
  Values row = {1, 2, 3, 6};
  const double stddev = std::sqrt(3.5);
  EXPECT_NEAR(plain::normalize(row.data(), 4, 0), 1 / stddev, 1e-15);
  EXPECT_NEAR(row[0], -2 / stddev, 1e-15);
  EXPECT_NEAR(row[3], 3 / stddev, 1e-15);
}

TEST(Normalize, EpsilonKeepsAConstantRowFinite) {
  Values row = {2, 2, 2};
  EXPECT_NEAR(plain::normalize(row.data(), 3, 1e-12), 1e6, 1e-6);
  for (const double value : row) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace strata::device::reference

#include <gtest/gtest.h>

#include "device/plain/activation.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

using plain::activate;

constexpr int64_t kTokens = 5, kIn = 4, kOut = 3;

// Two layers: pre -> activation -> x -> linear -> y, with loss = sum of dy * y.
class Linear : public testing::TestWithParam<Activation> {
 protected:
  double loss() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = activate(GetParam(), pre[i]);
    linear_forward({matrix(x, kTokens), matrix(weight, kOut), vector(bias), Activation::kNone,
                    Tensor{}, matrix(y, kTokens)});
    return dot(dy, y);
  }

  Values pre = random_values(kTokens * kIn, 1), x = pre;
  Values weight = random_values(kOut * kIn, 2), bias = random_values(kOut, 3);
  Values y = Values(kTokens * kOut), dy = random_values(kTokens * kOut, 4);
};

TEST_P(Linear, DataGradientGoesThroughTheActivationBefore) {
  Values dx(kTokens * kIn);
  linear_data_gradient({matrix(dy, kTokens), matrix(weight, kOut), GetParam(), matrix(pre, kTokens),
                        false, matrix(dx, kTokens)});
  expect_gradient("dx", dx, numeric_gradient(pre, [&] { return loss(); }));
}

TEST_P(Linear, WeightGradientIsAccumulated) {
  loss();
  Values d_weight(kOut * kIn, 10.0), d_bias(kOut, 20.0);
  linear_weight_gradient(
      {matrix(x, kTokens), matrix(dy, kTokens), true, matrix(d_weight, kOut), vector(d_bias)});
  for (double& value : d_weight) value -= 10;
  for (double& value : d_bias) value -= 20;
  expect_gradient("d_weight", d_weight, numeric_gradient(weight, [&] { return loss(); }));
  expect_gradient("d_bias", d_bias, numeric_gradient(bias, [&] { return loss(); }));
}

TEST_P(Linear, ForwardKeepsTheInputOfTheActivation) {
  loss();
  Values pre_activation(y.size()), activated(y.size());
  linear_forward({matrix(x, kTokens), matrix(weight, kOut), vector(bias), GetParam(),
                  matrix(pre_activation, kTokens), matrix(activated, kTokens)});
  EXPECT_EQ(pre_activation, y);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(activated[i], activate(GetParam(), y[i]));
}

INSTANTIATE_TEST_SUITE_P(Activations, Linear,
                         testing::Values(Activation::kNone, Activation::kGelu,
                                         Activation::kGeluTanh, Activation::kTanh));

TEST(LinearDataGradient, Accumulates) {
  Values dy = random_values(kTokens * kOut, 1), weight = random_values(kOut * kIn, 2);
  Values alone(kTokens * kIn), added(kTokens * kIn, 5.0);
  const LinearDataGradient op{
      matrix(dy, kTokens),   matrix(weight, kOut), Activation::kNone, ConstTensor{}, false,
      matrix(alone, kTokens)};
  LinearDataGradient accumulating = op;
  accumulating.accumulate = true;
  accumulating.dx = matrix(added, kTokens);
  linear_data_gradient(op);
  linear_data_gradient(accumulating);
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(added[i], 5.0 + alone[i]);
}

}  // namespace
}  // namespace strata::device::reference

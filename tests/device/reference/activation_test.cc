#include "device/plain/activation.h"

#include <gtest/gtest.h>

#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

using plain::activate;

constexpr Activation kAll[] = {Activation::kNone, Activation::kGelu, Activation::kGeluTanh,
                               Activation::kTanh};

// Values of torch.nn.functional.gelu and torch.tanh in f64.
TEST(Activation, ValuesMatchPyTorch) {
  EXPECT_EQ(activate(Activation::kNone, -1.5), -1.5);
  EXPECT_NEAR(activate(Activation::kGelu, 1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(activate(Activation::kGelu, -0.5), -0.15426876936299344, 1e-15);
  EXPECT_NEAR(activate(Activation::kGeluTanh, 1.0), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(activate(Activation::kGeluTanh, -0.5), -0.15428599017485606, 1e-15);
  EXPECT_NEAR(activate(Activation::kTanh, 0.5), 0.46211715726000973, 1e-15);
}

TEST(Activation, BackwardIsTheDerivativeOfForward) {
  for (const Activation activation : kAll) {
    Values x = random_values(40, 1), dx(40);
    for (double& value : x) value *= 4;
    Values dy = random_values(40, 2);
    const Values numeric = numeric_gradient(x, [&] {
      double loss = 0;
      for (size_t i = 0; i < x.size(); ++i) loss += dy[i] * activate(activation, x[i]);
      return loss;
    });
    activation_backward({activation, matrix(dy, 5), matrix(x, 5), matrix(dx, 5)});
    expect_gradient("dx", dx, numeric);
    activation_backward({activation, matrix(dy, 5), matrix(x, 5), matrix(dy, 5)});
    EXPECT_EQ(dy, dx) << "in place";
  }
}

}  // namespace
}  // namespace strata::device::reference

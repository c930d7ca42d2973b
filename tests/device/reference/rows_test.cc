#include <gtest/gtest.h>

#include "base/error.h"
#include "device/reference/operations.h"
#include "tests/device/reference/finite_differences.h"

namespace strata::device::reference {
namespace {

TEST(Rows, GatherTakesTheNamedRows) {
  Values x = {1, 2, 3, 4, 5, 6}, y(4);
  const std::vector<int32_t> rows = {2, 0};
  gather_rows({matrix(x, 3), rows.data(), matrix(y, 2)});
  EXPECT_EQ(y, (Values{5, 6, 1, 2}));
}

TEST(Rows, ScatterAddIsTheDerivativeOfGather) {
  Values x = random_values(12, 1), y(6), dy = random_values(6, 2), dx(12, 5.0);
  const std::vector<int32_t> rows = {3, 1};
  scatter_add_rows({matrix(dy, 2), rows.data(), matrix(dx, 4)});
  for (double& value : dx) value -= 5;
  expect_gradient("dx", dx, numeric_gradient(x, [&] {
                    gather_rows({matrix(x, 4), rows.data(), matrix(y, 2)});
                    return dot(dy, y);
                  }));
}

TEST(Rows, NoRowsIsNoWork) {
  Values x(6, 1.0);
  gather_rows({matrix(x, 3), nullptr, Tensor{nullptr, DType::kF64, 0, 2}});
  scatter_add_rows({ConstTensor{nullptr, DType::kF64, 0, 2}, nullptr, matrix(x, 3)});
  EXPECT_EQ(x, Values(6, 1.0));
}

TEST(Rows, RowsOutsideTheMatrixOrGivenTwiceAreAnError) {
  Values x(6), y(4);
  const std::vector<int32_t> outside = {0, 3}, twice = {1, 1};
  EXPECT_THROW(gather_rows({matrix(x, 3), outside.data(), matrix(y, 2)}), Error);
  EXPECT_THROW(scatter_add_rows({matrix(y, 2), twice.data(), matrix(x, 3)}), Error);
}

}  // namespace
}  // namespace strata::device::reference

#include "tests/conformance/bench.h"

#include <gtest/gtest-spi.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "device/reference/reference_backend.h"
#include "tests/support/matchers.h"

namespace strata::device {
namespace {

Output output_of(std::vector<double> values) {
  Output output;
  output.name = "d_x";
  output.dtype = DType::kF32;
  output.matrix = {2, static_cast<int64_t>(values.size()) / 2, std::move(values)};
  return output;
}

TEST(ConformanceFailure, NamesTheWorstElementWithItsExpectedAndActualValue) {
  const HostMatrix expected{2, 3, {1, 2, 3, 4, 5, -8}};
  struct Case {
    const char* what;
    std::vector<double> actual;
    double share, absolute;
    const char* message;  // empty: near enough
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Case cases[] = {
      {"equal", {1, 2, 3, 4, 5, -8}, 0, 0, ""},
      {"within the share of the largest", {1, 2, 3.07, 4, 5, -8}, 0.01, 0, ""},
      {"within the absolute bound", {1, 2, 3.07, 4, 5, -8}, 0, 0.08, ""},
      {"the worst of two",
       {1, 2.5, 3, 4, 4, -8},
       0.01,
       0,
       "d_x [2, 3] f32, element [1, 1]: expected 5, actual 4: the difference of 1 exceeds 0.08, "
       "which is 0.01 of the largest expected value 8; 2 of 6 elements exceed it"},
      {"not a number", {1, kNaN, 3, 4, 4, -8}, 0.01, 0, "element [0, 1]: expected 2, actual nan"},
      {"a share of nothing", {1, 2, 3, 4, 5, -9}, 0, 0, "element [1, 2]: expected -8, actual -9"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    const auto result = is_near(output_of(each.actual), expected, each.share, each.absolute);
    EXPECT_EQ(static_cast<bool>(result), each.message[0] == '\0');
    EXPECT_THAT(std::string(result.message()), HasSubstr(each.message)) << result.message();
  }
}

// Makes expect_conforms() fail: the oracle writes 1, the tested backend does not.
TEST(ConformanceFailure, IsPrintedByTheSuite) {
  static std::unique_ptr<Backend> backend;
  backend = make_reference_backend();
  static const OperationCall wrong = [](Bench& bench) {
    const Tensor out = bench.master_output("y", 1, 2);
    const bool tested = &bench.backend() == backend.get();
    out.as<double>()[0] = 1;
    out.as<double>()[1] = tested ? 3 : 2;
  };
  EXPECT_NONFATAL_FAILURE(expect_conforms(*backend, wrong),
                          "y [1, 2] f64, element [0, 1]: expected 2, actual 3");
  static int runs = 0;
  static const OperationCall unsteady = [](Bench& bench) {
    const Tensor out = bench.master_output("y", 1, 1);
    out.as<double>()[0] = &bench.backend() == backend.get() ? 1 + 0.25e-12 * runs++ : 1;
  };
  EXPECT_NONFATAL_FAILURE(
      expect_conforms(*backend, unsteady),
      "y [1, 1] f64, element [0, 0]: 1 in the first run, 1.00000000000025 in the second");
  backend.reset();
}

}  // namespace
}  // namespace strata::device

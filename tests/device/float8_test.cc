#include "device/operations/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/files/files.h"

namespace strata::device {
namespace {

template <typename Format>
void expect_golden(const char* name) {
  // tests/golden/device/float8.py uses ml_dtypes.
  const auto golden =
      nlohmann::json::parse(read_file(STRATA_SOURCE_DIR "/tests/golden/device/float8.json"))[name];
  for (int code = 0; code < 256; ++code) {
    const double expected =
        std::stod(golden["values"][static_cast<size_t>(code)].get<std::string>());
    if (std::isinf(expected)) continue;  // nothing is rounded to E5M2's infinity
    const float value = from_float8<Format>(static_cast<uint8_t>(code));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(value, expected) << code;
      EXPECT_EQ(to_float8<Format>(value), code);
    }
  }
  const auto bits = golden["bits"].get<std::vector<uint32_t>>();
  const auto codes = golden["codes"].get<std::vector<int>>();
  ASSERT_GT(bits.size(), 1000u);
  for (size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ(to_float8<Format>(std::bit_cast<float>(bits[i])), codes[i])
        << std::bit_cast<float>(bits[i]);
  }
}

TEST(Float8, RoundsAsMlDtypesDoes) {
  expect_golden<E4M3>("e4m3");
  expect_golden<E5M2>("e5m2");
}

TEST(Float8, SaturatesAndKeepsNan) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {449.0f, 465.0f, 1e9f, 3e38f, infinity}) {
    EXPECT_EQ(from_float8<E4M3>(to_float8<E4M3>(x)), 448.0f) << x;
    EXPECT_EQ(from_float8<E4M3>(to_float8<E4M3>(-x)), -448.0f) << x;
  }
  for (const float x : {57345.0f, 61441.0f, 1e9f, 3e38f, infinity}) {
    EXPECT_EQ(from_float8<E5M2>(to_float8<E5M2>(x)), 57344.0f) << x;
  }
  EXPECT_TRUE(std::isnan(from_float8<E4M3>(to_float8<E4M3>(nan))));
  EXPECT_TRUE(std::isnan(from_float8<E5M2>(to_float8<E5M2>(-nan))));
}

TEST(Float8, ScalesBringTheLargestValueJustBelowTheLimit) {
  for (const float limit : {E4M3::kLargest, E5M2::kLargest}) {
    for (const float largest : {1e-20f, 3e-7f, 0.02f, 1.0f, 447.9f, 448.0f, 448.1f, 1e6f}) {
      const float scale = float8_scale(limit, largest);
      int exponent = 0;
      EXPECT_EQ(std::frexp(scale, &exponent), 0.5f) << "a power of two";
      EXPECT_LE(largest * scale, limit);
      EXPECT_GT(largest * scale, limit / 2);
    }
  }
  EXPECT_EQ(float8_scale(448, 0), 1);
  EXPECT_EQ(float8_scale(448, std::numeric_limits<float>::infinity()), 1);
  EXPECT_EQ(float8_scale(448, std::numeric_limits<float>::quiet_NaN()), 1);
  EXPECT_TRUE(std::isfinite(1 / float8_scale(448, 1e-44f)));
}

}  // namespace
}  // namespace strata::device

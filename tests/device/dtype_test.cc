#include "device/operations/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/compilers_float16.h"

namespace strata::device {
namespace {

uint16_t rounded(uint32_t word) { return BFloat16(std::bit_cast<float>(word)).bits; }

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::kF64), 8u);
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kBF16), 2u);
  EXPECT_EQ(size_of(DType::kF16), 2u);
  EXPECT_EQ(sizeof(BFloat16), 2u);
  EXPECT_EQ(sizeof(Float16), 2u);
  EXPECT_STREQ(name_of(DType::kF64), "f64");
  EXPECT_STREQ(name_of(DType::kF32), "f32");
  EXPECT_STREQ(name_of(DType::kBF16), "bf16");
  EXPECT_STREQ(name_of(DType::kF16), "f16");
  EXPECT_EQ(dtype_of<float>(), DType::kF32);
  EXPECT_EQ(dtype_of<BFloat16>(), DType::kBF16);
  EXPECT_EQ(dtype_of<uint16_t>(), DType::kBF16);
  EXPECT_EQ(dtype_of<Float16>(), DType::kF16);
}

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    BFloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    const BFloat16 back(static_cast<float>(value));
    if (std::isnan(static_cast<float>(value))) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

TEST(BFloat16, RoundsToTheNearest) {
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);  // just below half way
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);  // just above
  EXPECT_EQ(rounded(0xbf807fff), 0xbf80);
  EXPECT_EQ(rounded(0xbf808001), 0xbf81);
}

TEST(BFloat16, HalfWayRoundsToEven) {
  EXPECT_EQ(rounded(0x3f808000), 0x3f80);
  EXPECT_EQ(rounded(0x3f818000), 0x3f82);
  EXPECT_EQ(rounded(0xbf808000), 0xbf80);
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
}

TEST(BFloat16, RoundingCarriesIntoTheExponent) {
  EXPECT_EQ(rounded(0x3fffffff), 0x4000);  // just below 2
}

TEST(BFloat16, NumbersBeyondTheRangeBecomeInfinity) {
  EXPECT_EQ(rounded(0x7f7f7fff), 0x7f7f);  // its largest finite value
  EXPECT_EQ(rounded(0x7f7f8000), 0x7f80);
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80);  // the largest float
  EXPECT_EQ(rounded(0xff7fffff), 0xff80);
}

TEST(BFloat16, InfinitiesZerosAndTheirSignsStay) {
  EXPECT_EQ(rounded(0x7f800000), 0x7f80);
  EXPECT_EQ(rounded(0xff800000), 0xff80);
  EXPECT_EQ(rounded(0x00000000), 0x0000);
  EXPECT_EQ(rounded(0x80000000), 0x8000);
}

TEST(BFloat16, SubnormalsAreRoundedNotFlushed) {
  EXPECT_EQ(rounded(0x00000001), 0x0000);
  EXPECT_EQ(rounded(0x00008000), 0x0000);
  EXPECT_EQ(rounded(0x00008001), 0x0001);
  EXPECT_EQ(rounded(0x00018000), 0x0002);
  // The largest subnormal float becomes the smallest normal bf16.
  EXPECT_EQ(rounded(0x007fffff), 0x0080);
  EXPECT_EQ(rounded(0x80010000), 0x8001);
}

TEST(BFloat16, ANaNStaysANaN) {
  for (const uint32_t word : {0x7fc00000u, 0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    const BFloat16 value(std::bit_cast<float>(word));
    EXPECT_TRUE(std::isnan(static_cast<float>(value))) << std::hex << word;
    EXPECT_EQ(value.bits >> 15, word >> 31) << std::hex << word;
  }
}

TEST(BFloat16, ErrorIsAtMostHalfAUnitInTheLastPlace) {
  for (uint32_t word = 0x00800000; word < 0x7f7f0000; word += 40009) {
    const float value = std::bit_cast<float>(word);
    const double error = std::abs(static_cast<double>(BFloat16(value)) - value);
    EXPECT_LE(error, std::ldexp(1.0, std::ilogb(value) - 8)) << std::hex << word;
  }
}

// The compiler's own binary16 is the oracle of the following tests.

TEST(Float16, EveryValueIsWidenedExactlyAndSurvivesTheWayThroughFloat) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto code = static_cast<uint16_t>(bits);
    const float value = from_float16(code), expected = std::bit_cast<CompilersFloat16>(code);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value)))) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(value), std::bit_cast<uint32_t>(expected)) << bits;
      EXPECT_EQ(Float16(value).bits, code);
    }
  }
}

TEST(Float16, RoundsFloatsAsTheCompilerDoes) {
  for (uint64_t word = 0; word <= 0xffffffffu; word += 1009) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(word));
    const auto expected = std::bit_cast<uint16_t>(static_cast<CompilersFloat16>(value));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value)))) << std::hex << word;
      EXPECT_EQ(Float16(value).bits >> 15, word >> 31) << std::hex << word;
    } else {
      ASSERT_EQ(Float16(value).bits, expected) << std::hex << word;
    }
  }
}

TEST(Float16, HalfWayRoundsToEvenAndItsNeighboursToTheNearest) {
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float half_way = (from_float16(bits) + from_float16(static_cast<uint16_t>(bits + 1))) / 2;
    const auto even = static_cast<uint16_t>(bits + (bits & 1));
    ASSERT_EQ(to_float16(half_way), even);
    ASSERT_EQ(to_float16(std::nextafter(half_way, 0.0f)), bits);
    ASSERT_EQ(to_float16(std::nextafter(half_way, 1e9f)), bits + 1);
    ASSERT_EQ(to_float16(-half_way), even | 0x8000);
  }
}

TEST(Float16, NumbersBeyondTheRangeBecomeInfinity) {
  EXPECT_EQ(to_float16(65504.0f), 0x7bff);
  EXPECT_EQ(to_float16(std::nextafter(65520.0f, 0.0f)), 0x7bff);
  EXPECT_EQ(to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(to_float16(-std::numeric_limits<float>::infinity()), 0xfc00);
}

}  // namespace
}  // namespace strata::device

#include "device/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace strata::device {
namespace {

uint16_t rounded(uint32_t word) { return BFloat16(std::bit_cast<float>(word)).bits; }

TEST(DType, SizesAndNames) {
  EXPECT_EQ(size_of(DType::kF64), 8u);
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kBF16), 2u);
  EXPECT_EQ(sizeof(BFloat16), 2u);
  EXPECT_STREQ(name_of(DType::kF64), "f64");
  EXPECT_STREQ(name_of(DType::kF32), "f32");
  EXPECT_STREQ(name_of(DType::kBF16), "bf16");
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

TEST(BFloat16, TooLargeForItBecomesInfinity) {
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
  EXPECT_EQ(rounded(0x007fffff), 0x0080);  // the largest subnormal float: the smallest normal
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

}  // namespace
}  // namespace strata::device

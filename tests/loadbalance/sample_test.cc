#include "loadbalance/sample.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace strata::loadbalance {
namespace {

TEST(Sample, CarriesItsNumberAndLength) {
  const auto samples = samples_of(std::vector<int32_t>{512, 1});
  EXPECT_EQ(samples, (std::vector<Sample>{{0, 512}, {1, 1}}));
  std::vector<uint32_t> numbers(2);
  write_numbers(samples, numbers);
  EXPECT_EQ(numbers, (std::vector<uint32_t>{0, 1}));
}

TEST(Sample, ALengthThatCannotBePlannedIsNamed) {
  try {
    samples_of(std::vector<int32_t>{1, 65536});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sample 1 has 65536 tokens"), std::string::npos);
  }
  EXPECT_THROW(samples_of(std::vector<int32_t>{0}), Error);
}

}  // namespace
}  // namespace strata::loadbalance

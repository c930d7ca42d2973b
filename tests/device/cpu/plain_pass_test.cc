#include "device/cpu/plain_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace strata::device::cpu {
namespace {

constexpr int64_t kSize = 100001;

struct Arrays {
  std::vector<float> a = std::vector<float>(kSize, 2.0f), b = a, c = a, d = a, read = a;
  std::vector<uint16_t> written = std::vector<uint16_t>(kSize, 0xffff);
};

bool all_are(const std::vector<float>& values, float value) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == value; });
}

// A pass that left something out would be no measure of one that does not.
TEST(PlainPass, TouchesEveryElementOfEveryArray) {
  for (const int threads : {1, 3}) {
    Arrays adam, first_half, second_half;
    run_plain_pass(threads, kSize,
                   {.modified = {adam.a.data(), adam.b.data(), adam.c.data(), adam.d.data()},
                    .written = adam.written.data(),
                    .factor = 0.5f});
    for (const auto& modified : {adam.a, adam.b, adam.c, adam.d}) {
      EXPECT_TRUE(all_are(modified, 1.0f));
    }
    EXPECT_EQ(adam.written, std::vector<uint16_t>(kSize, 0x3f80));  // 1 in bf16
    first_half.read.assign(kSize, 6.0f);
    run_plain_pass(threads, kSize,
                   {.modified = {first_half.a.data(), first_half.b.data(), first_half.c.data()},
                    .read = first_half.read.data(),
                    .factor = 0.5f});
    EXPECT_TRUE(all_are(first_half.a, 1.0f));
    EXPECT_TRUE(all_are(first_half.b, 4.0f));
    EXPECT_TRUE(all_are(first_half.c, 1.0f));
    run_plain_pass(threads, kSize,
                   {.modified = {second_half.a.data(), second_half.b.data()}, .factor = 0.5f});
    EXPECT_TRUE(all_are(second_half.a, 1.0f));
    EXPECT_TRUE(all_are(second_half.b, 1.0f));
  }
}

TEST(PlainPass, AFactorOfOneLeavesTheArraysAsTheyAre) {
  Arrays arrays;
  run_plain_pass(2, kSize,
                 {.modified = {arrays.a.data(), arrays.b.data(), arrays.c.data()},
                  .read = arrays.read.data()});
  for (const auto& modified : {arrays.a, arrays.b, arrays.c}) {
    EXPECT_TRUE(all_are(modified, 2.0f));
  }
}

}  // namespace
}  // namespace strata::device::cpu

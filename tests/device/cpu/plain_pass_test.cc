#include "device/cpu/flat/plain_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace strata::device::cpu {
namespace {

constexpr int64_t kSize = 100001;

struct Arrays {
  std::vector<float> a = std::vector<float>(kSize, 2.0f), b = a, c = a;
  std::vector<float> read = std::vector<float>(kSize, 6.0f);
  std::vector<uint16_t> written = std::vector<uint16_t>(kSize, 0xffff);
};

bool all_are(const std::vector<float>& values, float value) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == value; });
}

// Skipping elements would make the pass useless as a reference for speed.
TEST(PlainPass, TouchesEveryElementOfEveryArray) {
  const std::vector<uint16_t> untouched(kSize, 0xffff), four(kSize, 0x4080);  // 4 in bf16
  for (const int threads : {1, 3}) {
    for (const bool writes : {false, true}) {
      Arrays three, two, one;
      run_plain_pass(threads, kSize,
                     {.modified = {three.a.data(), three.b.data(), three.c.data()},
                      .read = three.read.data(),
                      .written = writes ? three.written.data() : nullptr,
                      .factor = 0.5f});
      EXPECT_TRUE(all_are(three.a, 4.0f));
      EXPECT_TRUE(all_are(three.b, 1.0f));
      EXPECT_TRUE(all_are(three.c, 1.0f));
      EXPECT_EQ(three.written, writes ? four : untouched);
      run_plain_pass(threads, kSize,
                     {.modified = {two.a.data(), two.b.data()},
                      .read = two.read.data(),
                      .written = writes ? two.written.data() : nullptr,
                      .factor = 0.5f});
      EXPECT_TRUE(all_are(two.a, 4.0f));
      EXPECT_TRUE(all_are(two.b, 1.0f));
      EXPECT_EQ(two.written, writes ? four : untouched);
      run_plain_pass(threads, kSize,
                     {.modified = {one.a.data()},
                      .read = one.read.data(),
                      .written = writes ? one.written.data() : nullptr,
                      .factor = 0.5f});
      EXPECT_TRUE(all_are(one.a, 4.0f));
      EXPECT_EQ(one.written, writes ? four : untouched);
    }
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

#include "bert/weights/normal_draws.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "bert/weights/weights.h"

namespace strata::bert {
namespace {

// Draws element by element with the C library's functions and a separate SplitMix64; draw_normals
// computes the same by vectors.
uint64_t mixed(uint64_t state) {
  state += 0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

double fraction(uint64_t seed, uint64_t counter) {
  const uint64_t bits = mixed(seed ^ mixed(counter)) / 2048;
  return (static_cast<double>(bits) + 0.5) / 9007199254740992.0;
}

float serial_draw(uint64_t seed, uint64_t element) {
  uint64_t counter = element * 65536;
  double normal = 0;
  do {
    const double radius = std::sqrt(-2.0 * std::log(fraction(seed, counter)));
    normal = radius * std::cos(2.0 * M_PI * fraction(seed, counter + 1));
    counter += 2;
  } while (std::abs(normal) > 2.0);
  return static_cast<float>(0.02 * normal);
}

// Returns the number of elements that differ in a bit.
size_t differing(uint64_t seed, uint64_t first, size_t count) {
  std::vector<float> drawn(count);
  draw_normals(seed, first, drawn);
  size_t different = 0;
  for (size_t i = 0; i < count; ++i) {
    different +=
        std::bit_cast<uint32_t>(drawn[i]) != std::bit_cast<uint32_t>(serial_draw(seed, first + i));
  }
  return different;
}

TEST(NormalDraws, HaveTheBitsOfSerialDraws) {
  for (const size_t count : {0u, 1u, 7u, 511u, 512u, 513u, 4099u}) {
    EXPECT_EQ(differing(count + 1, 3 * count, count), 0u) << count;
  }
  // The last element of BERT-large and beyond, and elements whose counters use the high bits.
  EXPECT_EQ(differing(5, 336'000'000, 1001), 0u);
  EXPECT_EQ(differing(5, (uint64_t{1} << 47) + 3, 1001), 0u);
}

// A few in a million are so close between two floats that the vector code leaves them to the C
// library.
TEST(NormalDraws, HaveTheBitsOfSerialDrawsOverMillions) {
  EXPECT_EQ(differing(17, 0, 3'000'000), 0u);
}

TEST(NormalDraws, DoNotDependOnHowTheyAreSplit) {
  constexpr size_t kCount = 3001;
  std::vector<float> whole(kCount);
  draw_normals(3, 10, whole);
  for (const size_t part : {1u, 13u, 512u, 700u}) {
    std::vector<float> parts(kCount);
    for (size_t begin = 0; begin < kCount; begin += part) {
      draw_normals(3, 10 + begin, std::span(parts).subspan(begin, std::min(part, kCount - begin)));
    }
    EXPECT_EQ(parts, whole) << part;
  }
}

// Large enough for several parts, the last of an odd size.
TEST(RandomWeights, HaveTheBitsOfSerialDrawsOnAnyNumberOfThreads) {
  BertConfig config;
  config.vocab_size = 5'003;
  config.hidden_size = 192;
  config.layers = 1;
  config.heads = 3;
  config.intermediate_size = 328;
  config.max_positions = 17;
  const ParameterLayout layout(config);
  ASSERT_GT(layout.size, 1 << 20);
  HostWeights expected(static_cast<size_t>(layout.size));
  for (const Parameter& p : layout.all) {
    for (int64_t i = p.offset; i < p.offset + p.size(); ++i) {
      expected[static_cast<size_t>(i)] = p.decay ? serial_draw(9, static_cast<uint64_t>(i))
                                         : p.name.ends_with("/gamma") ? 1.0f
                                                                      : 0.0f;
    }
  }
  for (const unsigned threads : {1u, 2u, 3u, 5u, 16u}) {
    EXPECT_TRUE(random_weights(layout, 9, threads) == expected) << threads << " threads";
  }
}

}  // namespace
}  // namespace strata::bert

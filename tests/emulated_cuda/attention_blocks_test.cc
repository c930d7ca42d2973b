// Tests the assignment of tiles to attention's blocks, and prints the number of idle blocks.
#include "device/cuda/attention/attention_blocks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <tuple>
#include <vector>

namespace strata::device::cuda {
namespace {

struct Batch {
  explicit Batch(const std::vector<int32_t>& lengths_) : lengths(lengths_), cu_seqlens(1, 0) {
    for (const int32_t length : lengths) cu_seqlens.push_back(cu_seqlens.back() + length);
    sequences = {.count = static_cast<int32_t>(lengths.size()),
                 .tokens = cu_seqlens.back(),
                 .max_length = *std::max_element(lengths.begin(), lengths.end()),
                 .cu_seqlens = cu_seqlens.data()};
  }
  Blocks blocks(int32_t heads) const { return blocks_of(sequences, heads, sequences.tokens); }
  int64_t tiles() const {
    return std::accumulate(lengths.begin(), lengths.end(), int64_t{0},
                           [](int64_t sum, int32_t n) { return sum + ceil_div(n, kTile); });
  }

  std::vector<int32_t> lengths, cu_seqlens;
  Sequences sequences;
};

using Taken = std::tuple<int, int, int>;  // head, sequence, first row

void take_kernel(Sequences sequences, bool side_by_side, std::vector<Taken>* taken) {
  const TileOfBlock tile(sequences, side_by_side);
  const int length = sequences.cu_seqlens[tile.sequence + 1] - sequences.cu_seqlens[tile.sequence];
  if (threadIdx.x != 0 || tile.first_row >= length) return;
  taken->push_back({static_cast<int>(blockIdx.y), tile.sequence, tile.first_row});
}

void expect_every_tile_has_one_block(const Batch& batch, bool side_by_side) {
  constexpr int kHeads = 2;
  const Blocks blocks = batch.blocks(kHeads);
  EXPECT_EQ(blocks.side_by_side, side_by_side);
  std::vector<Taken> taken, expected;
  launch(nullptr, blocks.grid, kWarpSize, take_kernel, batch.sequences, blocks.side_by_side,
         &taken);
  for (int head = 0; head < kHeads; ++head) {
    for (size_t i = 0; i < batch.lengths.size(); ++i) {
      for (int row = 0; row < batch.lengths[i]; row += kTile) {
        expected.push_back({head, static_cast<int>(i), row});
      }
    }
  }
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, expected);
}

TEST(AttentionBlocks, EveryTileHasOneBlockHoweverLongSequencesAre) {
  expect_every_tile_has_one_block(Batch({1}), false);
  expect_every_tile_has_one_block(Batch({512, 512}), false);
  expect_every_tile_has_one_block(Batch({512, 1, 2}), true);
  expect_every_tile_has_one_block(Batch({2, 1, 512, 0}), true);
  std::mt19937 random(1);
  for (const int count : {5, 31, 32, 33, 64, 100, 1023, 1500}) {
    for (int times = 0; times < 20; ++times) {
      std::vector<int32_t> lengths(static_cast<size_t>(count));
      for (int32_t& length : lengths) length = static_cast<int32_t>(random() % 66);
      lengths[random() % lengths.size()] = 400;
      SCOPED_TRACE(count);
      expect_every_tile_has_one_block(Batch(lengths), true);
    }
  }
}

TEST(AttentionBlocks, FewBlocksAreIdleWhenLengthsDiffer) {
  std::ifstream file(STRATA_SOURCE_DIR "/bench/lengths/mlperf_wikipedia.txt");
  std::vector<int32_t> lengths;
  std::vector<double> weights;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    int32_t length = 0;
    double weight = 0;
    if (!(words >> length >> weight)) continue;  // a comment
    lengths.push_back(length);
    weights.push_back(weight);
  }
  ASSERT_EQ(lengths.size(), 512);
  std::mt19937 random(1);
  std::discrete_distribution<size_t> draw(weights.begin(), weights.end());
  for (const int count : {96, 3}) {
    int64_t tiles = 0, blocks = 0, of_longest = 0;
    for (int times = 0; times < 200; ++times) {
      std::vector<int32_t> drawn(static_cast<size_t>(count));
      for (int32_t& length : drawn) length = lengths[draw(random)];
      const Batch batch(drawn);
      const dim3 grid = batch.blocks(1).grid;
      tiles += batch.tiles();
      blocks += grid.x * grid.z;
      of_longest += count * ceil_div(batch.sequences.max_length, kTile);
    }
    const auto mean = [](int64_t sum) { return static_cast<double>(sum) / 200; };
    fmt::print(
        "{} sequences of MLPerf's lengths, a head: {:.1f} tiles in {:.1f} blocks; as many tiles"
        " as of the longest for each would be {:.1f}\n",
        count, mean(tiles), mean(blocks), mean(of_longest));
    EXPECT_LE(static_cast<double>(blocks),
              (count == 96 ? 1.15 : 1.35) * static_cast<double>(tiles));
  }
}

}  // namespace
}  // namespace strata::device::cuda

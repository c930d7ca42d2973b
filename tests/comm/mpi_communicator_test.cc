#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "comm/communicator.h"
#include "loadbalance/random.h"

namespace strata::comm {
namespace {

using device::BFloat16;
using device::DType;

// Returns rank `rank`'s values, whose sum depends on the order of addition.
template <typename Element>
std::vector<Element> contribution(int rank, int64_t count) {
  loadbalance::Random random(static_cast<uint64_t>(rank + 1));
  std::vector<Element> values;
  for (int64_t i = 0; i < count; ++i) {
    const double mantissa = static_cast<double>(random.below(1u << 24)) / (1 << 23) - 1.0;
    values.push_back(static_cast<Element>(
        static_cast<float>(std::ldexp(mantissa, static_cast<int>(random.below(20))))));
  }
  return values;
}

template <typename Element, typename Accumulator>
void expect_sum_in_rank_order(DType dtype) {
  const auto communicator = make_mpi_communicator();
  const int ranks = communicator->size();
  for (const int64_t count : {0, 1, 2, 3, 5, 1000, 100003}) {
    std::vector<Element> values = contribution<Element>(communicator->rank(), count);
    communicator->all_reduce_sum(values.data(), count, dtype);

    std::vector<std::vector<Element>> parts;
    for (int rank = 0; rank < ranks; ++rank) parts.push_back(contribution<Element>(rank, count));
    for (int64_t i = 0; i < count; ++i) {
      Accumulator sum = static_cast<Accumulator>(parts[0][i]);
      for (int rank = 1; rank < ranks; ++rank) sum += static_cast<Accumulator>(parts[rank][i]);
      const Element expected = Element(sum);
      ASSERT_EQ(std::memcmp(&values[i], &expected, sizeof expected), 0)
          << "element " << i << " of " << count;
    }
  }
}

TEST(MpiCommunicator, SumsF64InRankOrder) { expect_sum_in_rank_order<double, double>(DType::kF64); }
TEST(MpiCommunicator, SumsF32InRankOrder) { expect_sum_in_rank_order<float, float>(DType::kF32); }
TEST(MpiCommunicator, SumsBF16InF32AndRoundsOnce) {
  expect_sum_in_rank_order<BFloat16, float>(DType::kBF16);
}

// 256 + 1 is not a bf16. In one chunk all ones are lost; in pairs only those of the first pair.
TEST(MpiCommunicator, SumsBF16InTheConfiguredWay) {
  const auto communicator = make_mpi_communicator();
  const int rank = communicator->rank(), ranks = communicator->size();
  const auto sum = [&](Communicator& by) {
    std::vector<BFloat16> values(1000, rank == 0 ? 256.0f : 1.0f);
    by.all_reduce_sum(values.data(), 1000, DType::kBF16);
    for (const BFloat16 value : values) EXPECT_EQ(value.bits, values[0].bits);
    return float{values[0]};
  };
  communicator->accumulate({.in_bf16 = true});
  EXPECT_EQ(sum(*communicator), 256.0f);
  EXPECT_EQ(sum(*communicator->duplicate()), float{BFloat16(255.0f + static_cast<float>(ranks))});
  communicator->accumulate({.in_bf16 = true, .chunk = 2});
  EXPECT_EQ(sum(*communicator), ranks == 4 ? 258.0f : 256.0f);
  communicator->accumulate({});
  EXPECT_EQ(sum(*communicator), float{BFloat16(255.0f + static_cast<float>(ranks))});
}

TEST(MpiCommunicator, HalvesOfAnAllReduceGiveTheSameBits) {
  const auto communicator = make_mpi_communicator();
  const int rank = communicator->rank(), ranks = communicator->size();
  for (const int64_t count : {0, 1, 2, 3, 5, 1000, 100003}) {
    std::vector<float> whole = contribution<float>(rank, count), halves = whole;
    communicator->all_reduce_sum(whole.data(), count, DType::kF32);
    communicator->reduce_scatter_sum(halves.data(), count, DType::kF32);
    const Range mine = shard_of(count, rank, ranks);
    EXPECT_TRUE(std::equal(whole.begin() + mine.begin, whole.begin() + mine.end,
                           halves.begin() + mine.begin))
        << count;
    for (int64_t i = 0; i < count; ++i) {
      if (i < mine.begin || i >= mine.end) halves[static_cast<size_t>(i)] = -1;
    }
    communicator->all_gather(halves.data(), count, DType::kF32);
    EXPECT_EQ(whole, halves) << count;
  }
}

TEST(MpiCommunicator, AnExchangeBeyondMpisCountsIsRefused) {
  const auto communicator = make_mpi_communicator();
  if (communicator->size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
  EXPECT_THROW(communicator->reduce_scatter_sum(nullptr, int64_t{1} << 31, DType::kBF16), Error);
  EXPECT_THROW(communicator->all_gather(nullptr, int64_t{1} << 31, DType::kBF16), Error);
}

// The data exceeds one piece of 2^24 elements.
TEST(MpiCommunicator, SumsLongData) {
  const auto communicator = make_mpi_communicator();
  std::vector<BFloat16> values((int64_t{1} << 24) + 77, BFloat16(1.0f));
  communicator->all_reduce_sum(values.data(), static_cast<int64_t>(values.size()), DType::kBF16);
  const BFloat16 expected(static_cast<float>(communicator->size()));
  EXPECT_TRUE(std::all_of(values.begin(), values.end(),
                          [&](BFloat16 value) { return value.bits == expected.bits; }));
}

TEST(MpiCommunicator, SumsIntegers) {
  const auto communicator = make_mpi_communicator();
  const int64_t ranks = communicator->size();
  std::vector<int64_t> values = {communicator->rank() + (int64_t{1} << 60) / ranks, -1};
  communicator->all_reduce_sum(values);
  EXPECT_EQ(values[0], ranks * (ranks - 1) / 2 + (int64_t{1} << 60) / ranks * ranks);
  EXPECT_EQ(values[1], -ranks);
}

TEST(MpiCommunicator, FindsTheLargest) {
  const auto communicator = make_mpi_communicator();
  const auto rank = static_cast<float>(communicator->rank()),
             last = static_cast<float>(communicator->size() - 1);
  std::vector<float> values = {rank, -rank, -5.0f - rank, 7.0f};
  communicator->all_reduce_max(values);
  EXPECT_EQ(values, (std::vector<float>{last, 0.0f, -5.0f, 7.0f}));
}

TEST(MpiCommunicator, BroadcastsFromAnyRoot) {
  const auto communicator = make_mpi_communicator();
  for (int root = 0; root < communicator->size(); ++root) {
    std::string text = communicator->rank() == root ? "from root" : "untouched";
    communicator->broadcast(text.data(), text.size(), root);
    EXPECT_EQ(text, "from root");
  }
}

TEST(MpiCommunicator, NobodyLeavesABarrierBeforeAllHaveCome) {
  const auto communicator = make_mpi_communicator();
  const auto other = communicator->duplicate();
  std::vector<int64_t> arrived = {1};
  std::thread counting([&] { other->all_reduce_sum(arrived); });
  communicator->barrier();
  counting.join();
  EXPECT_EQ(arrived[0], communicator->size());
}

TEST(MpiCommunicator, CountsTheBytesThatARankSends) {
  const auto communicator = make_mpi_communicator();
  const auto duplicate = communicator->duplicate();
  const int64_t ranks = communicator->size();
  std::vector<float> values(static_cast<size_t>(16 * ranks + 1));
  const auto sent = [&](Communicator& by, auto collective) {
    const int64_t before = communicator->traffic()->bytes();
    collective(by);
    return communicator->traffic()->bytes() - before;
  };
  const int64_t others = ranks - 1;
  EXPECT_EQ(sent(*communicator,
                 [&](Communicator& by) {
                   by.reduce_scatter_sum(values.data(), 16 * ranks, DType::kF32);
                 }),
            others * 16 * 4);
  EXPECT_EQ(sent(*duplicate,
                 [&](Communicator& by) { by.all_gather(values.data(), 16 * ranks, DType::kBF16); }),
            others * 16 * 2);
  // Shards are multiples of eight elements, and the last rank also has the remainder. The total
  // over ranks does not depend on that.
  int64_t total[] = {sent(*communicator, [&](Communicator& by) {
    by.all_reduce_sum(values.data(), 16 * ranks + 1, DType::kF32);
  })};
  communicator->all_reduce_sum(total);
  EXPECT_EQ(total[0], 2 * others * (16 * ranks + 1) * 4);
}

// Two threads use one communicator each, in opposite orders of progress.
TEST(MpiCommunicator, DuplicatesAreIndependent) {
  const auto first = make_mpi_communicator();
  const auto second = first->duplicate();
  std::vector<float> large(200000, 1.0f);
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) {
      std::fill(large.begin(), large.end(), 1.0f);
      second->all_reduce_sum(large.data(), static_cast<int64_t>(large.size()), DType::kF32);
    }
  });
  double small = 0;
  for (int i = 0; i < 100; ++i) {
    small = 1.0;
    first->all_reduce_sum(&small, 1, DType::kF64);
  }
  other.join();
  EXPECT_EQ(small, first->size());
  EXPECT_EQ(large.front(), static_cast<float>(first->size()));
  EXPECT_EQ(large.back(), static_cast<float>(first->size()));
}

}  // namespace
}  // namespace strata::comm

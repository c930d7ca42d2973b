#include "plan/search.h"

#include <algorithm>
#include <ctime>

#include "tests/support/error_of.h"
#include "tests/support/matchers.h"

namespace strata::plan {
namespace {

Planner cluster_planner() {
  Planner planner;
  planner.calibration.costs = {
      .per_sample = 3e-3, .per_step = 20e-3, .between_nodes = 5e-3, .repeated = 0.5};
  planner.ranks_per_node = 8;
  planner.samples = [](double) { return Samples{3e6, 0.02, "given"}; };
  return planner;
}

TEST(Search, OneStageIsFastestWithEnoughMemoryAndAFreeNetwork) {
  Planner fast = cluster_planner();
  fast.network = flat_network({0, 1e15});
  const SearchResult result = search(fast, {{64}, {4096}, 1e12});
  EXPECT_EQ(result.fitting, result.tried);
  EXPECT_GT(result.tried, 20u);
  const Layout& layout = result.fastest.input.layout;
  EXPECT_EQ(layout.micro_batches, 1);
  EXPECT_EQ(layout.stages, 1);
}

TEST(Search, LittleMemoryTakesLayoutsThatNeedLess) {
  Planner slow = cluster_planner();
  slow.network = flat_network({1e-6, 1e11});
  const SearchResult result = search(slow, {{64}, {4096}, 6e9});
  EXPECT_LT(result.fitting, result.tried);
  EXPECT_LE(result.fastest.memory, 6e9);
  EXPECT_GT(result.fastest.run.total, search(slow, {{64}, {4096}, 1e12}).fastest.run.total);
  EXPECT_LE(result.cheapest.run.total, 1.1 * result.fastest.run.total);
}

// The result is the least of the planner's own predictions.
TEST(Search, IsExhaustive) {
  Planner slow = cluster_planner();
  slow.network = flat_network({1e-6, 2e9});
  const SearchResult result = search(slow, {{16}, {256}, 1e12});
  for (const int64_t n : {1, 2, 4, 8, 16}) {
    for (const Sharding sharding : {Sharding::kNone, Sharding::kAll}) {
      for (const Order order : {Order::kMicroBatch, Order::kLayer}) {
        const Prediction other =
            slow.predict(16, 256, {.micro_batches = n, .order = order, .sharding = sharding});
        EXPECT_LE(result.fastest.run.total, other.run.total + 1e-9) << n;
      }
    }
    if (n < 2) continue;
    for (const bool modular : {false, true}) {
      const Prediction other =
          slow.predict(16, 256,
                       {.stages = 2,
                        .modular = modular,
                        .micro_batches = n,
                        .order = modular ? Order::kLayer : Order::kMicroBatch});
      EXPECT_LE(result.fastest.run.total, other.run.total + 1e-9) << n;
    }
  }
}

// The oracle simulates the imbalance of every layout.
TEST(Search, SkipsImbalanceOnlyIfItDoesNotMatter) {
  Planner uneven = cluster_planner();
  uneven.strategy = "random";
  uneven.calibration.costs.per_step = 2e-3;
  uneven.network = flat_network({1e-6, 1e12});
  const SearchResult result = search(uneven, {{16, 48, 64}, {192, 384}, 1e12});
  double fastest = 1e300, cheapest = 1e300;
  for (const bool second : {false, true}) {
    for (const int64_t ranks : {16, 48, 64}) {
      for (const double batch : {192.0, 384.0}) {
        const Prediction each = uneven.predict(ranks, batch, {});
        if (second && each.run.total <= 1.1 * result.fastest.run.total) {
          cheapest = std::min(cheapest, each.rank_seconds());
        }
        fastest = std::min(fastest, each.run.total);
      }
    }
  }
  EXPECT_LE(result.fastest.run.total, fastest);
  EXPECT_LE(result.cheapest.rank_seconds(), cheapest);
  EXPECT_EQ(result.fastest.run.total,
            uneven
                .predict(result.fastest.input.ranks, result.fastest.input.batch,
                         result.fastest.input.layout)
                .run.total);
  EXPECT_GT(result.fastest.input.imbalance, 1.05);
}

// Eight A100 and cards a node, as NVIDIA's DGX A100, and costs that its systems of v2.0 have.
TEST(Search, OffersNoPipelineToLargeClustersThatHoldTheModel) {
  Planner a100 = cluster_planner();
  a100.calibration.costs = {.per_sample = 2.97e-3, .per_step = 14.8e-3, .between_nodes = 5.5e-3};
  a100.calibration.ranks_per_node = 8;
  a100.network = Network{.domain = 8, .cards = 8, .card = {5e-6, 25e9}};
  for (const Clip clip : {Clip::kNone, Clip::kAfterAllReduce, Clip::kBeforeAllReduce}) {
    for (const double batch : {4096.0, 8192.0, 16384.0}) {
      const SearchResult result = search(a100, {{2048}, {batch}, 80e9, clip});
      EXPECT_EQ(result.fastest.input.layout.stages, 1) << batch;
      EXPECT_EQ(result.cheapest.input.layout.stages, 1) << batch;
    }
  }
}

TEST(Search, TakesSecondsForAllLayoutsOfALargeCluster) {
  Planner a100 = cluster_planner();
  a100.network = Network{.domain = 8, .cards = 8, .card = {5e-6, 25e9}};
  a100.samples = reference_samples("2.0.0");
  const std::clock_t begin = std::clock();
  const SearchResult result = search(a100, {{512, 1024, 2048}, {4096, 8192, 12288, 16384}, 80e9});
  EXPECT_GT(result.tried, 700u);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2);
}

TEST(Search, TheCheapestTakesFewerRanksWhereThatCostsLittleTime) {
  Planner fast = cluster_planner();
  fast.network = flat_network({0, 1e15});
  fast.calibration.costs.per_step = 3;  // twice the ranks save hardly anything
  const SearchResult result = search(fast, {{32, 64}, {1024}, 1e12});
  EXPECT_EQ(result.fastest.input.ranks, 64);
  EXPECT_EQ(result.cheapest.input.ranks, 32);
  EXPECT_LT(result.cheapest.rank_seconds(), result.fastest.rank_seconds());
}

TEST(Search, ImpossibleSearchesAreRefusedWithTheReason) {
  using testing_support::error_of;
  const std::string error = error_of([] { search(cluster_planner(), {{64}, {4096}, 1e6}); });
  EXPECT_THAT(error, HasSubstr("the smallest needs"));
  EXPECT_THAT(error_of([] { search(cluster_planner(), {{64}, {63}, 1e12}); }), HasSubstr("divide"));
}

}  // namespace
}  // namespace strata::plan

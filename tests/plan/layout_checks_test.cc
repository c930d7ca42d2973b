#include "plan/layout_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace strata::plan {
namespace {

TEST(LayoutChecks, RefusesImpossibleLayoutsByOption) {
  const std::vector<std::pair<Layout, std::string>> refused = {
      {{.stages = 3, .micro_batches = 4}, "--stages 3: does not divide 8 ranks"},
      {{.stages = 2, .micro_batches = 1}, "--stages 2: needs at least as many"},
      {{.stages = 2, .micro_batches = 2, .order = Order::kLayer},
       "--stages: a pipeline has its own order; use --order micro_batch, or use --stages 1"},
      {{.stages = 2, .micro_batches = 2, .sharding = Sharding::kAll},
       "--stages: gradients of stages cannot be sharded"},
      {{.micro_batches = 100}, "--accumulation 100"},
      {{.sharding = Sharding::kGradients, .clip = Clip::kBeforeAllReduce},
       "--sharded: sharded gradients are reduced before"},
      {{.micro_batches = 2, .sharding = Sharding::kGradients},
       "--sharded: in micro_batch order sharded gradients are reduced after every micro-batch, "
       "but bucket_before_allreduce clips those of a whole step; use --clip after_allreduce, or "
       "use --sharded state, or use --order layer"},
      {{.split_tied_embedding = true}, "--split-tied-embedding"},
      {{.stages = 2, .micro_batches = 2, .bucket_bytes = 25e6}, "--bucket-megabytes"},
      {{.sharding = Sharding::kAll, .bucket_bytes = 25e6}, "--bucket-megabytes"},
      {{.clip = Clip::kNone, .split_tied_embedding = true, .bucket_bytes = 25e6},
       "--bucket-megabytes"},
      {{.sharding = Sharding::kState, .clip = Clip::kNone, .split_tied_embedding = true},
       "--split-tied-embedding"}};
  for (const auto& [layout, reason] : refused) {
    const auto said = refusal({}, 8, 64, layout);
    ASSERT_TRUE(said) << reason;
    EXPECT_TRUE(said->starts_with(reason)) << *said;
  }
  EXPECT_TRUE(refusal({}, 10, 64, {.stages = 5, .micro_batches = 8})) << "24 layers";
  EXPECT_EQ(refusal({}, 1, 64, {.stages = 3, .micro_batches = 4}),
            "--stages 3: does not divide 1 rank");
}

TEST(LayoutChecks, AcceptsPossibleLayouts) {
  for (const Layout& layout :
       {Layout{}, Layout{.stages = 2, .modular = true, .micro_batches = 2},
        Layout{.micro_batches = 2, .order = Order::kLayer, .sharding = Sharding::kAll},
        Layout{.clip = Clip::kNone, .split_tied_embedding = true}}) {
    EXPECT_EQ(refusal({}, 8, 64, layout), std::nullopt);
  }
}

TEST(LayoutChecks, RanksWithoutASampleAreRefused) {
  EXPECT_THAT(refusal({}, 8, 3, {}).value_or(""),
              testing::HasSubstr("--batch 3: is less than a sample for each of 8 ranks"));
  EXPECT_THAT(refusal({}, 8, 3, {.stages = 2, .micro_batches = 2}).value_or(""),
              testing::HasSubstr("4 replicas"));
  EXPECT_FALSE(refusal({}, 8, 8, {}));
}

}  // namespace
}  // namespace strata::plan

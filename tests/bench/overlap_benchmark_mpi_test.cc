#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files/files.h"
#include "bench/step/overlap_benchmark.h"
#include "tests/bench/benchmark_over_ranks.h"

namespace strata::bench {
namespace {

class OverlapBenchmarkOverRanks : public BenchmarkOverRanks {
 protected:
  OverlapBenchmarkOverRanks() { config_.batch.gradient_accumulation_steps = 2; }
};

TEST_F(OverlapBenchmarkOverRanks, WithTiedEmbeddingSplitMeasuresTheModesThatHaveIt) {
  if (ranks_.size() == 1) GTEST_SKIP() << "a single rank has no communication";
  config_.reduce.split_tied_embedding = true;
  config_.clip.mode = config::ClipMode::kNone;
  const OverlapBenchmark result = benchmark_overlap(
      config_, {.steps = 1, .micro_batch_tokens = 200, .link = comm::Link{1e8, 1e-5}}, ranks_);
  ASSERT_EQ(result.modes.size(), 2U);
  EXPECT_EQ(result.modes[0].name, "none, tied-embedding split");
  EXPECT_EQ(result.modes[1].name, "after_allreduce, tied-embedding split");
}

TEST_F(OverlapBenchmarkOverRanks, MeasuresEveryModeOverTheStatedLink) {
  const OverlapOptions options{.steps = 2,
                               .micro_batch_tokens = 200,
                               .link = comm::Link{1e8, 1e-5},
                               .timeline = directory_ / "timeline.json"};
  if (ranks_.size() == 1) {
    EXPECT_THROW(benchmark_overlap(config_, options, ranks_), Error);
    return;
  }
  const OverlapBenchmark result = benchmark_overlap(config_, options, ranks_);
  EXPECT_EQ(result.ranks, ranks_.size());
  EXPECT_EQ(result.tokens, int64_t{2} * 200 * ranks_.size());
  EXPECT_GT(result.buckets, 3);
  std::vector<std::string> names;
  for (const ModeOverlap& mode : result.modes) {
    names.push_back(mode.name);
    const double least = comm::all_reduce_seconds(*options.link, ranks_.size(), result.bytes);
    EXPECT_GE(mode.communication, least) << mode.name;
    EXPECT_LE(mode.exposed, mode.communication + 1e-9) << mode.name;
    EXPECT_GE(mode.step, mode.exposed) << mode.name;
    EXPECT_GT(mode.backward, 0) << mode.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"none", "after_allreduce", "before_allreduce",
                                             "bucket_before_allreduce",
                                             "bucket_before_allreduce, sharded state"}));
  if (ranks_.first()) {
    const auto trace = nlohmann::json::parse(read_file(options.timeline));
    std::set<int> processes;
    std::set<std::string> spans;
    for (const auto& event : trace["traceEvents"]) {
      processes.insert(event["pid"].get<int>());
      spans.insert(event["name"].get<std::string>());
    }
    EXPECT_EQ(static_cast<int>(processes.size()), ranks_.size());
    for (const auto& name : names) EXPECT_TRUE(spans.contains(name)) << name;
    for (const char* name :
         {"forward embeddings", "backward layer_1", "reduce 0", "update 0", "gather_updated 0"}) {
      EXPECT_TRUE(spans.contains(name)) << name;
    }
  }
}

TEST_F(OverlapBenchmarkOverRanks, ChoosesALinkByItsShareOfBackward) {
  if (ranks_.size() == 1) GTEST_SKIP() << "one rank needs no link";
  OverlapOptions options{.steps = 1, .micro_batch_tokens = 200, .communication_share = 2.0};
  const OverlapBenchmark result = benchmark_overlap(config_, options, ranks_);
  ASSERT_TRUE(result.link);
  EXPECT_GT(result.link->bytes_per_second, 0);
  options.link = comm::Link{0, 10.0};
  EXPECT_THROW(benchmark_overlap(config_, options, ranks_), Error)
      << "a latency longer than backward";
}

}  // namespace
}  // namespace strata::bench

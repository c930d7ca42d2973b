#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files/files.h"
#include "bench/schedules/schedule_benchmark.h"
#include "bench/step/synthetic_training.h"
#include "tests/bench/benchmark_over_ranks.h"
#include "tests/support/matchers.h"

namespace strata::bench {
namespace {

class ScheduleBenchmarkOverRanks : public BenchmarkOverRanks {
 protected:
  ScheduleBenchmarkOverRanks() {
    config_.batch.gradient_accumulation_steps = 3;
    config_.clip.mode = config::ClipMode::kAfterAllReduce;
  }

  // Uses the tiny model with four layers.
  void take_four_layers() {
    const auto path = directory_ / "four_layers.json";
    write_file_atomically(path, R"({"vocab_size": 2000, "hidden_size": 64, "num_hidden_layers": 4,
      "num_attention_heads": 2, "intermediate_size": 256, "max_position_embeddings": 128,
      "type_vocab_size": 2, "hidden_act": "gelu"})");
    config_.model.config = path.string();
    config_.batch.gradient_accumulation_steps = 4;
  }
  ScheduleOptions asleep(Section section) const {
    return {.steps = 1,
            .micro_batch_tokens = 200,
            .link = comm::Link{1e9, 0},
            .sleeping_flops = 1e12,
            .timeline = directory_ / "timeline.json",
            .only = {section}};
  }
  std::set<std::string> spans() const {
    std::set<std::string> names;
    const auto trace = nlohmann::json::parse(read_file(directory_ / "timeline.json"));
    for (const auto& event : trace["traceEvents"]) names.insert(event["name"].get<std::string>());
    return names;
  }
};

// A rank's wait for another in a reduction says nothing about the network.
TEST_F(ScheduleBenchmarkOverRanks, ExposedCommunicationIsTakenFromTheSlowestRank) {
  const int longest = ranks_.size() / 2;
  const double compute = ranks_.rank() == longest ? 2 : 1.0 / (1 + ranks_.rank());
  const double exposed = 10 - 3 * (ranks_.rank() == longest) + ranks_.rank();
  EXPECT_EQ(of_slowest(ranks_, compute, exposed), 7 + longest);
}

TEST_F(ScheduleBenchmarkOverRanks, MeasuresEveryOrderOverTheStatedLink) {
  for (const double sleeping_flops : {0.0, 1e10}) {
    const ScheduleOptions options{.steps = 1,
                                  .micro_batch_tokens = 200,
                                  .link = comm::Link{1e8, 1e-5},
                                  .sleeping_flops = sleeping_flops,
                                  .timeline = directory_ / "timeline.json",
                                  .only = {Section::kDataParallel}};
    if (ranks_.size() == 1) {
      EXPECT_THROW(benchmark_schedules(config_, options, ranks_), Error);
      return;
    }
    const ScheduleBenchmark benchmark = benchmark_schedules(config_, options, ranks_);
    EXPECT_FALSE(benchmark.pipelines || benchmark.sharding || benchmark.modules);
    const DataParallelOrders& result = benchmark.data_parallel.value();
    EXPECT_TRUE(result.skipped.empty());
    EXPECT_EQ(result.tokens, int64_t{3} * 200 * ranks_.size());
    std::vector<std::string> names;
    for (const OrderMeasurement& order : result.orders) {
      names.push_back(order.name);
      EXPECT_GE(order.communication.measured, order.communication.formula) << order.name;
      EXPECT_GE(order.step, order.exposed.measured) << order.name;
      EXPECT_GE(order.exposed.formula, 0.99 * order.tail * order.communication.formula)
          << order.name;
      EXPECT_NEAR(order.activations.deviation(), 0, 0.05) << order.name;
      EXPECT_GT(order.all_memory, order.activations.measured) << order.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"micro_batch", "micro_batch, recompute",
                                               "micro_batch, tied-embedding split", "layer",
                                               "layer, recompute", "layer, tied-embedding split"}));
    const auto& orders = result.orders;
    EXPECT_EQ(orders[3].activations.measured, 3 * orders[0].activations.measured);
    EXPECT_LT(orders[4].activations.measured, orders[3].activations.measured);
    EXPECT_LT(orders[5].tail, orders[3].tail);
    if (sleeping_flops > 0) {  // it sleeps for the repeated forward
      EXPECT_GT(orders[1].step, orders[1].forward + orders[1].backward);
    }
    if (!ranks_.first()) continue;
    const std::set<std::string> spans = this->spans();
    for (const auto& name : names) EXPECT_TRUE(spans.contains(name)) << name;
    for (const char* name :
         {"forward layer_1", "recompute layer_0", "backward heads", "reduce 0"}) {
      EXPECT_TRUE(spans.contains(name)) << name;
    }
    EXPECT_FALSE(spans.contains("recompute heads"));
  }
}

TEST_F(ScheduleBenchmarkOverRanks, NamesDataParallelOrdersThatTheClipModeRefuses) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  config_.clip.mode = config::ClipMode::kBucketBeforeAllReduce;
  config_.reduce.bucket_megabytes = 2;
  config_.batch.gradient_accumulation_steps = 1;
  const auto result =
      benchmark_schedules(config_, asleep(Section::kDataParallel), ranks_).data_parallel.value();
  EXPECT_EQ(result.orders.size(), 4u);
  ASSERT_EQ(result.skipped.size(), 2u);
  EXPECT_EQ(result.skipped[0].name, "micro_batch, tied-embedding split");
  EXPECT_EQ(result.skipped[1].name, "layer, tied-embedding split");
  for (const Skipped& skipped : result.skipped) {
    EXPECT_TRUE(skipped.reason.starts_with("reduce.split_tied_embedding: ")) << skipped.reason;
  }
}

TEST_F(ScheduleBenchmarkOverRanks, StagesSendTheBytesOfTheFormula) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  take_four_layers();
  const auto result =
      benchmark_schedules(config_, asleep(Section::kPipelines), ranks_).pipelines.value();
  EXPECT_TRUE(result.skipped.empty());
  std::vector<std::string> names;
  for (const PipelineMeasurement& pipeline : result.pipelines) {
    names.push_back(pipeline.name);
    const int64_t runs = pipeline.pipeline == bert::Pipeline::kModular ? 4 / pipeline.stages : 1;
    constexpr int64_t kTokens = 4 * 200, kHidden = 64;
    EXPECT_EQ(pipeline.message_bytes, ranks_.size() * 2 * runs * kTokens * kHidden * 4);
    EXPECT_EQ(pipeline.message_bytes, pipeline.message_bytes_formula);
    EXPECT_GE(pipeline.step, pipeline.slowest.span);
    EXPECT_GE(pipeline.slowest.span, pipeline.slowest.layers + pipeline.slowest.heads)
        << "stage 0 has to do both";
    EXPECT_NEAR(pipeline.bubble.measured, pipeline.slowest.span / pipeline.slowest.layers - 1,
                1e-9);
    EXPECT_NEAR(pipeline.activations.deviation(), 0, 0.05) << pipeline.name;
    EXPECT_DOUBLE_EQ(pipeline.parts.paper,
                     static_cast<double>(pipeline.stages - 1) / static_cast<double>(4 * runs));
  }
  std::vector<std::string> expected = {"contiguous, 2 stages", "modular, 2 stages"};
  if (ranks_.size() == 4) {
    expected.insert(expected.end(), {"contiguous, 4 stages", "modular, 4 stages"});
  }
  EXPECT_EQ(names, expected);
  if (!ranks_.first()) return;
  for (const std::string& name : names) EXPECT_TRUE(spans().contains(name)) << name;
}

TEST_F(ScheduleBenchmarkOverRanks, ModulesSendTheBytesAndKeepTheActivationsOfTheFormulas) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  take_four_layers();
  config_.batch.gradient_accumulation_steps = 4;  // modules ignore it
  ScheduleOptions options = asleep(Section::kModules);
  options.sleeping_flops = 1e10;
  const auto result = benchmark_schedules(config_, options, ranks_).modules.value();
  if (ranks_.size() == 4) {
    ASSERT_EQ(result.skipped.size(), 2u);
    EXPECT_THAT(result.skipped[0].reason, HasSubstr("5 modules need one layer each"));
    return;
  }
  EXPECT_TRUE(result.skipped.empty());
  ASSERT_EQ(result.orders.size(), 2u);
  for (const ModulesMeasurement& order : result.orders) {
    constexpr int64_t kTokens = 200, kHidden = 64;
    EXPECT_EQ(order.message_bytes, ranks_.size() * 2 * kTokens * kHidden * 4) << order.name;
    EXPECT_EQ(order.message_bytes, order.message_bytes_formula) << order.name;
    EXPECT_GE(order.step, order.span.measured) << order.name;
    EXPECT_NEAR(order.activations.deviation(), 0, 0.05) << order.name;
  }
  const ModulesMeasurement &without = result.orders[0], &delayed = result.orders[1];
  EXPECT_EQ(without.name, fmt::format("{} modules, without delay", ranks_.size() + 1));
  EXPECT_DOUBLE_EQ(without.span.formula, without.forward + without.backward);
  EXPECT_DOUBLE_EQ(delayed.span.formula, delayed.forward + delayed.longest_backward);
  EXPECT_LT(delayed.longest_backward, delayed.backward);
  EXPECT_GE(without.span.measured, without.span.formula) << "one after the other";
  // There are K - 1 copies of the first module's weights, ..., and none of the last one's.
  EXPECT_EQ(without.stash_bytes, delayed.stash_bytes);
  EXPECT_GT(delayed.stash_bytes, 0);
  if (!ranks_.first()) return;
  const std::set<std::string> spans = this->spans();
  for (const ModulesMeasurement& order : result.orders) EXPECT_TRUE(spans.contains(order.name));
}

TEST_F(ScheduleBenchmarkOverRanks, NamesModulesThatTheClipModeRefuses) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  take_four_layers();
  config_.clip.mode = config::ClipMode::kBucketBeforeAllReduce;
  config_.reduce.bucket_megabytes = 2;
  const auto result = benchmark_schedules(config_, asleep(Section::kModules), ranks_).modules;
  ASSERT_TRUE(result && result->orders.empty());
  ASSERT_EQ(result->skipped.size(), 2u);
  EXPECT_THAT(
      result->skipped[1].reason,
      HasSubstr("ouroboros.modules: a bucket of bucket_before_allreduce holds gradients of "));
  EXPECT_THAT(result->skipped[1].reason, HasSubstr("set clip.mode to after_allreduce"));
}

TEST_F(ScheduleBenchmarkOverRanks, NamesPipelinesThatDoNotFit) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  take_four_layers();
  config_.batch.gradient_accumulation_steps = 1;
  config_.parallel.stages = ranks_.size();
  const auto few =
      benchmark_schedules(config_, asleep(Section::kPipelines), ranks_).pipelines.value();
  EXPECT_TRUE(few.pipelines.empty());
  ASSERT_EQ(few.skipped.size(), 2u);
  EXPECT_THAT(few.skipped[0].reason, HasSubstr("batch.gradient_accumulation_steps is 1"));
  config_.batch.gradient_accumulation_steps = 8;
  config_.parallel.stages = 3;
  const auto odd =
      benchmark_schedules(config_, asleep(Section::kPipelines), ranks_).pipelines.value();
  ASSERT_EQ(odd.skipped.size(), 2u);
  EXPECT_EQ(odd.skipped[1].name, "modular, 3 stages");
  EXPECT_THAT(odd.skipped[1].reason, HasSubstr("does not divide the 4 layers"));
}

TEST_F(ScheduleBenchmarkOverRanks, ShardedOrdersSendAndKeepTheBytesOfTheFormulas) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  take_four_layers();
  for (const auto optimizer : {config::OptimizerKind::kAdam, config::OptimizerKind::kLamb,
                               config::OptimizerKind::kMadgrad}) {
    const bool lamb = optimizer == config::OptimizerKind::kLamb;
    config_.optimizer.name = optimizer;
    config_.reduce.dtype = lamb ? config::ReduceDType::kBf16 : config::ReduceDType::kFp32;
    config_.clip.mode = lamb ? config::ClipMode::kNone : config::ClipMode::kAfterAllReduce;
    const auto result =
        benchmark_schedules(config_, asleep(Section::kSharding), ranks_).sharding.value();
    EXPECT_TRUE(result.skipped.empty());
    std::vector<std::string> names;
    for (const ShardingMeasurement& order : result.orders) {
      names.push_back(order.name);
      EXPECT_GT(order.bytes_sent, 0) << order.name;
      EXPECT_EQ(order.bytes_sent, order.bytes_sent_formula) << order.name;
      EXPECT_EQ(order.memory.weights, order.memory_formula.weights) << order.name;
      EXPECT_EQ(order.memory.gradients, order.memory_formula.gradients) << order.name;
      EXPECT_EQ(order.memory.state, order.memory_formula.state) << order.name;
      // All of it is resident, and code and threads add to it.
      EXPECT_GT(order.resident.measured, 0.9 * static_cast<double>(order.memory.total()))
          << order.name;
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"none, micro_batch", "state, micro_batch",
                                        "gradients, micro_batch", "all, micro_batch", "none, layer",
                                        "state, layer", "gradients, layer", "all, layer"}));
    const auto& orders = result.orders;
    for (const size_t first : {size_t{0}, size_t{4}}) {
      EXPECT_EQ(orders[first].memory.state, ranks_.size() * orders[first + 1].memory.state);
    }
    EXPECT_GT(orders[3].bytes_sent, 2 * orders[7].bytes_sent) << "every micro-batch, and once";
    if (!ranks_.first()) continue;
    for (const std::string& name : names) EXPECT_TRUE(spans().contains(name)) << name;
  }
}

TEST_F(ScheduleBenchmarkOverRanks, NamesShardedOrdersThatTheClipModeRefuses) {
  if (ranks_.size() == 1) GTEST_SKIP() << "needs several ranks";
  config_.clip.mode = config::ClipMode::kBucketBeforeAllReduce;
  config_.reduce.bucket_megabytes = 2;
  const auto result =
      benchmark_schedules(config_, asleep(Section::kSharding), ranks_).sharding.value();
  EXPECT_EQ(result.orders.size(), 6u);
  ASSERT_EQ(result.skipped.size(), 2u);
  EXPECT_EQ(result.skipped[0].name, "gradients, micro_batch");
  EXPECT_EQ(result.skipped[1].name, "all, micro_batch");
  EXPECT_THAT(result.skipped[1].reason, HasSubstr("optimizer.sharded: in micro_batch order sharded "
                                                  "gradients are reduced after every micro-batch"));
  for (const ShardingMeasurement& order : result.orders) {
    EXPECT_EQ(order.bytes_sent, order.bytes_sent_formula) << order.name;
  }
}

}  // namespace
}  // namespace strata::bench

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "bench/schedule_benchmark.h"
#include "tests/support/temporary_directory.h"

namespace strata::bench {
namespace {

class ScheduleBenchmarkOverRanks : public testing_support::TemporaryDirectory {
 protected:
  ScheduleBenchmarkOverRanks() {
    config_.model.config = "tiny";
    config_.model.precision = config::Precision::kFp32;
    config_.device.threads = 1;
    config_.batch.micro_batch = 2;
    config_.batch.gradient_accumulation_steps = 3;
    config_.reduce.bucket_megabytes = 0.05;
    config_.clip.mode = config::ClipMode::kAfterAllReduce;
  }

  config::RunConfig config_;
  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  training::Ranks ranks_{*world_, {world_->rank(), world_->size()}};
};

TEST_F(ScheduleBenchmarkOverRanks, MeasuresEveryOrderOverTheStatedLink) {
  for (const double sleeping_flops : {0.0, 1e10}) {
    const ScheduleOptions options{.steps = 1,
                                  .micro_batch_tokens = 200,
                                  .link = comm::Link{1e8, 1e-5},
                                  .sleeping_flops = sleeping_flops,
                                  .timeline = directory_ / "timeline.json"};
    if (ranks_.size() == 1) {
      EXPECT_THROW(benchmark_schedules(config_, options, ranks_), Error);
      return;
    }
    const ScheduleBenchmark result = benchmark_schedules(config_, options, ranks_);
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
                                               "micro_batch, early words", "layer",
                                               "layer, recompute", "layer, early words"}));
    const auto& orders = result.orders;
    EXPECT_EQ(orders[3].activations.measured, 3 * orders[0].activations.measured);
    EXPECT_LT(orders[4].activations.measured, orders[3].activations.measured);
    EXPECT_LT(orders[5].tail, orders[3].tail);
    if (sleeping_flops > 0) {  // it sleeps for the forward that runs again
      EXPECT_GT(orders[1].step, orders[1].forward + orders[1].backward);
    }
    if (!ranks_.first()) continue;
    const auto trace = nlohmann::json::parse(read_file(options.timeline));
    std::set<std::string> spans;
    for (const auto& event : trace["traceEvents"]) spans.insert(event["name"].get<std::string>());
    for (const auto& name : names) EXPECT_TRUE(spans.contains(name)) << name;
    for (const char* name :
         {"forward layer_1", "recompute layer_0", "backward heads", "reduce 0"}) {
      EXPECT_TRUE(spans.contains(name)) << name;
    }
    EXPECT_FALSE(spans.contains("recompute heads"));
  }
}

}  // namespace
}  // namespace strata::bench

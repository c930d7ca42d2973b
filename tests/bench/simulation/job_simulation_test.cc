#include "bench/simulation/job_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "bert/parameters/parameters.h"
#include "device/registry/backends.h"
#include "plan/forms/shared_layers.h"
#include "plan/forms/step_forms.h"
#include "training/batches/synthetic_batch.h"

namespace strata::bench {
namespace {

using config::ClipMode;

constexpr double kFlops = 1e9;

// 12 layers of 49,984 parameters; the heads compute and the embeddings hold little.
class SimulatedJob : public testing::Test {
 protected:
  SimulatedJob() {
    config_.reduce.bucket_megabytes = 0.19;  // a layer
    config_.clip.mode = ClipMode::kNone;
    model_ = {.vocab_size = 64,
              .hidden_size = 64,
              .layers = 12,
              .heads = 2,
              .intermediate_size = 256,
              .max_positions = 128};
  }
  // Each rank's link sends `bytes_per_second`.
  JobInput input(int ranks, double bytes_per_second) const {
    return {.config = config_,
            .model = model_,
            .ranks = ranks,
            .lengths = lengths_,
            .compute_bytes = 4,
            .device = {.flops_per_second = kFlops},
            .network = plan::flat_network({0, bytes_per_second})};
  }
  JobSimulation simulated(int ranks, double bytes_per_second) const {
    return simulate_job(input(ranks, bytes_per_second));
  }
  // Seconds of all layers, and of the heads.
  double layers_seconds() const {
    return static_cast<double>(model_.layers) * block_flops(model_, lengths_).layer / kFlops;
  }
  double heads_seconds() const {
    const BlockFlops flops = block_flops(model_, lengths_);
    return (flops.heads_forward + flops.heads_backward) / kFlops;
  }

  config::RunConfig config_;
  bert::BertConfig model_;
  std::vector<int32_t> lengths_ = {128, 100, 60};
};
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

TEST_F(SimulatedJob, ComputesAsLongAsItsFlopsTake) {
  config_.batch.gradient_accumulation_steps = 3;
  EXPECT_NEAR(simulated(1, kNoLimit).step, 3 * (layers_seconds() + heads_seconds()), 1e-9);
  config_.batch.activations = config::ActivationPolicy::kRecompute;
  EXPECT_NEAR(simulated(1, kNoLimit).step, 3 * (4.0 / 3 * layers_seconds() + heads_seconds()),
              2 * heads_seconds());
}

// Without norms, clipping and updates, the closed form describes the same step.
TEST_F(SimulatedJob, ExposedCommunicationAgreesWithTheClosedForm) {
  const double backward = 2.0 / 3 * layers_seconds();
  for (const char* backend : {"cpu", "cuda"}) {
    config_.device.backend = &device::find_backend(backend);
    for (const auto mode : {ClipMode::kNone, ClipMode::kAfterAllReduce, ClipMode::kBeforeAllReduce,
                            ClipMode::kBucketBeforeAllReduce}) {
      config_.clip.mode = mode;
      for (const double megabytes : {0.05, 0.19, 1.0}) {
        config_.reduce.bucket_megabytes = megabytes;
        for (const double share : {0.2, 1.0, 3.0}) {
          const double sent = 4 * 1.5 * 625'000;  // about the bytes that a rank sends
          const double speed = sent / (share * backward);
          const JobSimulation job = simulated(4, speed);
          ASSERT_TRUE(job.exposed_formula.has_value());
          EXPECT_GT(*job.exposed_formula, 0);
          // Executors' times are whole nanoseconds. The formula leaves out the norm's all-reduce.
          const double norm = plan::all_reduce_seconds(plan::Link{0, speed}, sizeof(double), 4);
          const double exposed = job.times.exposed_communication_seconds;
          EXPECT_GE(exposed + 1e-8, *job.exposed_formula) << config::name_of(mode);
          EXPECT_LE(exposed - 1e-8, *job.exposed_formula + norm) << config::name_of(mode);
        }
      }
    }
  }
}

// Lamy-Poirier, arXiv 2106.02679.
TEST_F(SimulatedJob, StagesWaitAsLongAsThePaperSays) {
  const int micro_batches = 8;
  config_.batch.gradient_accumulation_steps = micro_batches;
  for (const int stages : {2, 3, 4}) {
    config_.parallel.stages = stages;
    for (const auto pipeline : {bert::Pipeline::kContiguous, bert::Pipeline::kModular}) {
      config_.parallel.pipeline = pipeline;
      const int64_t runs = pipeline == bert::Pipeline::kModular ? model_.layers / stages : 1;
      const double working = micro_batches * layers_seconds() / stages;
      const double bubble = plan::bubble_share(stages, runs, micro_batches);
      const double step = simulated(stages, kNoLimit).step;
      EXPECT_GE(step + 1e-9, working * (1 + bubble));
      EXPECT_LE(step, working * (1 + bubble) + micro_batches * heads_seconds());
    }
  }
}

// Heads' parameters, which the closed form leaves out, are a fiftieth of all.
TEST_F(SimulatedJob, ShardedStepsTakeTheTimeOfTheLayerByLayerForm) {
  config_.optimizer.sharded = config::Sharding::kAll;
  config_.batch.gradient_accumulation_steps = 2;
  const int ranks = 4;
  for (const double share : {0.2, 1.0, 3.0}) {
    const double layer = 49'984 * 4 * 0.75;  // bytes of a layer that a rank sends in one half
    const double bytes_per_second = 12 * layer / (share * layers_seconds());
    const double seconds = layer / bytes_per_second;
    const double layer_flops = block_flops(model_, lengths_).layer / kFlops;
    const double form = plan::shared_layers_seconds({.layers = 12,
                                                     .passes = 2,
                                                     .forward = layer_flops / 3,
                                                     .backward = layer_flops * 2 / 3,
                                                     .heads = heads_seconds(),
                                                     .gathers_weights = true,
                                                     .layer_gather = seconds,
                                                     .words_gather = 0.25 * seconds,
                                                     .layer_reduce = seconds,
                                                     .words_reduce = 0.25 * seconds});
    EXPECT_NEAR(simulated(ranks, bytes_per_second).step / form, 1, 0.03) << share;
  }
}

TEST_F(SimulatedJob, EqualRanksMayBeSimulatedAsOne) {
  config_.parallel.stages = 2;
  config_.batch.gradient_accumulation_steps = 4;
  JobInput one = input(8, 1e7);
  const JobSimulation folded = simulate_job(one);
  EXPECT_EQ(folded.ranks.size(), 2u);
  one.slowest = 1 + 1e-9;
  const JobSimulation apart = simulate_job(one);
  EXPECT_EQ(apart.ranks.size(), 4u);
  EXPECT_NEAR(apart.step / folded.step, 1, 1e-6);
}

TEST_F(SimulatedJob, AllWaitForASlowReplica) {
  JobInput slow = input(4, 1e12);
  slow.slowest = 1.5;
  const JobSimulation job = simulate_job(slow);
  EXPECT_NEAR(job.step / (1.5 * simulated(4, 1e12).step), 1, 1e-3);
  EXPECT_EQ(job.ranks.front().name, "slow replica");
  EXPECT_NEAR(job.ranks.back().end / job.step, 1, 1e-3);
}

// The names are those that a timeline has (tests/training/trace/timeline_test.cc).
TEST_F(SimulatedJob, MeasuredDurationsReplaceSpeeds) {
  JobInput input = this->input(1, kNoLimit);
  input.device.step_seconds = 1;
  const double step = simulate_job(input).step;
  input.durations = {
      {"forward layer_3", 0.5}, {"forward embeddings", 0.125}, {"update 0", 0.25}, {"clip", 9}};
  const double forward = block_flops(model_, lengths_).layer / 3 / kFlops;
  EXPECT_NEAR(simulate_job(input).step, step - forward + 0.5 + 0.125 + 0.25, 1e-9)
      << "the step's constant stays";
}

// Bytes per element: tests/bench/optimizer_benchmark_test.cc counts them from the arrays.
TEST_F(SimulatedJob, MemoryTrafficTakesTheTimeOfItsBytes) {
  const auto parameters = static_cast<double>(bert::ParameterLayout(model_).size);
  const auto times_on = [&](int ranks) {
    JobInput input = this->input(ranks, kNoLimit);
    input.device.bytes_per_second = 1e9;
    return simulate_job(input).times;
  };
  const auto expect = [&](double seconds, double bytes) {
    EXPECT_NEAR(seconds, bytes * parameters / 1e9, 1e-7);
  };
  expect(times_on(1).update_seconds, 28);  // 7 arrays of f32
  config_.optimizer.name = config::OptimizerKind::kLamb;
  expect(times_on(1).update_seconds, 40);
  config_.optimizer.name = config::OptimizerKind::kSgd;
  expect(times_on(1).update_seconds, 20);
  config_.optimizer.name = config::OptimizerKind::kAdam;

  config_.clip.mode = ClipMode::kAfterAllReduce;
  expect(times_on(4).clip_seconds, 4);  // the norm of the sums
  config_.clip.mode = ClipMode::kBucketBeforeAllReduce;
  expect(times_on(4).clip_seconds, 4 + 8);  // the norm, then clipping in place
  config_.reduce.dtype = config::ReduceDType::kBf16;
  expect(times_on(4).clip_seconds, 4 + 6 + 6);  // clipping into bf16, and back
  config_.optimizer.sharded = config::Sharding::kState;
  expect(times_on(4).clip_seconds, 4 + 6 + 6.0 / 4);
  expect(times_on(4).update_seconds, 28.0 / 4);
}

TEST_F(SimulatedJob, StagesWaitForTheirMessages) {
  config_.parallel.stages = 2;
  config_.parallel.pipeline = bert::Pipeline::kContiguous;
  config_.batch.gradient_accumulation_steps = 2;
  const double fast = simulated(2, kNoLimit).step;
  const double seconds = 1e-3;  // of a message
  const double bytes = (128 + 100 + 60) * 64 * 4;
  // The last stage begins a message late, and the first ends one late.
  EXPECT_GE(simulated(2, bytes / seconds).step, fast + 2 * seconds - 1e-9);
  JobInput input = this->input(2, kNoLimit);
  input.device.message_seconds = seconds;
  EXPECT_GE(simulate_job(input).step, fast + 2 * seconds - 1e-9);
}

TEST_F(SimulatedJob, ModulesRunBackwardAtOnceAfterTheirWarmUp) {
  config_.ouroboros.modules = 3;
  config_.clip.mode = ClipMode::kAfterAllReduce;
  const double forward = layers_seconds() / 3, backward = 2 * forward;
  EXPECT_NEAR(simulated(2, kNoLimit).step, forward + 2.0 / 3 * backward, 2 * heads_seconds());
  config_.ouroboros.warmup_steps = config::kNeverDelayed;
  EXPECT_NEAR(simulated(2, kNoLimit).step, forward + backward, 2 * heads_seconds());
}

TEST(TypicalLengths, HaveTheMeanOfTheLengthMix) {
  const auto mean = [](const std::vector<int32_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) /
           static_cast<double>(lengths.size());
  };
  const double all = mean(training::wikipedia_lengths(10'000'000, 512, 3));
  for (const int64_t sequences : {2, 3, 56, 1000}) {
    EXPECT_NEAR(mean(typical_lengths(sequences, 512)) / all, 1, 0.05) << sequences;
  }
  for (const int32_t length : typical_lengths(100, 200)) EXPECT_LE(length, 200);
  EXPECT_THAT(typical_lengths(40'000, 512), testing::Each(testing::Gt(0))) << "more than drawn";
}

TEST_F(SimulatedJob, ATimelineHasAllLanesInsideTheStep) {
  config_.optimizer.sharded = config::Sharding::kState;
  const JobSimulation job = simulated(2, 1e7);
  const std::vector<training::TimelineSpan> spans = job.ranks.front().timeline("step");
  std::set<std::optional<comm::Lane>> lanes;
  for (const training::TimelineSpan& span : spans) {
    lanes.insert(span.lane);
    EXPECT_GE(span.begin_ns, 0);
    EXPECT_LE(span.end_ns, spans.front().end_ns);
  }
  EXPECT_EQ(lanes.size(), 4u) << "the step, compute, collectives and gathers";
  EXPECT_THAT(spans,
              testing::Contains(testing::Field(&training::TimelineSpan::name, "backward layer_3")));
  EXPECT_THAT(spans, testing::Contains(testing::Field(&training::TimelineSpan::name, "reduce 2")));
}

// It is a constant of the step, not of each stage.
TEST_F(SimulatedJob, TheConstantTimeOfAStepCountsOnce) {
  config_.batch.gradient_accumulation_steps = 4;
  for (const int stages : {1, 2, 4}) {
    config_.parallel.stages = stages;
    JobInput input = this->input(4, 1e9);
    const JobSimulation without = simulate_job(input);
    input.device.step_seconds = 1;
    const JobSimulation with = simulate_job(input);
    EXPECT_NEAR(with.step, without.step + 1, 1e-9);
    EXPECT_NEAR(with.backward_end, without.backward_end + 1, 1e-9);
    EXPECT_NEAR(with.times.exposed_communication_seconds,
                without.times.exposed_communication_seconds, 2e-9);
  }
}

TEST_F(SimulatedJob, RefusesASlowReplicaWithoutOtherReplicas) {
  JobInput input = this->input(1, kNoLimit);
  input.slowest = 2;
  EXPECT_THROW(simulate_job(input), Error);
}

TEST_F(SimulatedJob, RefusesStepsThatAreTooLong) {
  config_.reduce.bucket_megabytes = 1e-9;
  config_.batch.gradient_accumulation_steps = 1'000'000;
  EXPECT_THAT([&] { simulated(2, 1e9); },
              testing::Throws<Error>(testing::Property(
                  &Error::what, testing::HasSubstr("batch.gradient_accumulation_steps"))));
}

TEST_F(SimulatedJob, RefusesRanksThatStagesDoNotDivide) {
  config_.parallel.stages = 2;
  EXPECT_THAT([&] { simulated(3, kNoLimit); },
              testing::Throws<Error>(
                  testing::Property(&Error::what, testing::HasSubstr("parallel.stages"))));
}

}  // namespace
}  // namespace strata::bench

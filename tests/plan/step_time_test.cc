#include "plan/step_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace strata::plan {
namespace {

Calibration machine(double between_nodes = 5e-3) {
  Calibration calibration;
  calibration.costs = {
      .per_sample = 3e-3, .per_step = 20e-3, .between_nodes = between_nodes, .repeated = 0.5};
  return calibration;
}

TEST(StepTime, AddsUpItsTerms) {
  const StepTime step = predict_step(
      machine(), {},
      {.ranks = 64, .nodes = 8, .batch = 640, .imbalance = 1.1, .layout = {.micro_batches = 3}});
  EXPECT_NEAR(step.compute, 30e-3, 1e-12);
  EXPECT_NEAR(step.imbalance, 3e-3, 1e-12);
  EXPECT_NEAR(step.constant, 40e-3, 1e-12);
  EXPECT_EQ(step.bubble, 0);
  EXPECT_NEAR(step.exposed, 5e-3, 1e-12);
  EXPECT_NEAR(step.total(), 78e-3, 1e-12);
  EXPECT_EQ(step.binding(), "constant");
  EXPECT_EQ(predict_step(machine(), {}, {.ranks = 8, .nodes = 1, .batch = 80}).exposed, 0);
}

TEST(StepTime, NamesBothTermsThatTheCalibrationDoesNotTellApart) {
  Calibration calibration = machine();
  calibration.tells_nodes_apart = false;
  StepInput input{.ranks = 64, .nodes = 8, .batch = 64};
  EXPECT_EQ(predict_step(calibration, {}, input).binding(), "communication or constant");
  input.batch = 6400;
  EXPECT_EQ(predict_step(calibration, {}, input).binding(), "compute");
  input = {.ranks = 8, .nodes = 1, .batch = 8};
  EXPECT_EQ(predict_step(calibration, {}, input).binding(), "constant");
}

// M = 1 MB over 10 ranks at 1 MB/s: C = 1.8 s. There are ten layers; the last in backward completes
// 0.1 and 0.09 of it. Backward of 10 samples takes 20 ms.
class StepTimeOverANetwork : public testing::Test {
 protected:
  StepTimeOverANetwork() {
    shape_.layers = 10;
    shape_.parameters = 5e5;
    shape_.tail = 0.1;
    shape_.heads_share = 0;
  }
  double exposed(const Layout& layout, double bytes_per_second = 1e6) const {
    return predict_step(machine(0), shape_,
                        {.ranks = 10,
                         .nodes = 10,
                         .batch = 100,
                         .network = flat_network({0, bytes_per_second}),
                         .layout = layout})
        .exposed;
  }

  ModelShape shape_;
};

TEST_F(StepTimeOverANetwork, BackwardHidesCommunication) {
  EXPECT_NEAR(exposed({}), 1.8 - 0.9 * 0.02, 1e-12);
  EXPECT_NEAR(exposed({.micro_batches = 5}), 1.8 - 0.9 * 0.004, 1e-12)
      << "only the last micro-batch's backward";
  EXPECT_NEAR(exposed({.micro_batches = 5, .order = Order::kLayer}), 1.8 - 0.9 * 0.02, 1e-12)
      << "that of all micro-batches";
  EXPECT_NEAR(exposed({.micro_batches = 5, .order = Order::kLayer}, 1e9), 0.19 * 1.8e-3, 1e-12)
      << "what only the last block completes";
  EXPECT_NEAR(exposed({.recompute = true}), 1.8 - 0.9 * 0.03, 1e-12)
      << "forward goes beside it once more";
}

// Rounding errors of sums of times must not appear as exposed time.
TEST_F(StepTimeOverANetwork, ASingleRankExposesNothing) {
  for (const auto sharding :
       {Sharding::kNone, Sharding::kState, Sharding::kGradients, Sharding::kAll}) {
    for (double batch = 1; batch < 20; batch += 0.1) {
      const StepInput input{.batch = batch,
                            .network = flat_network({0, 1e6}),
                            .layout = {.micro_batches = 2, .sharding = sharding}};
      EXPECT_EQ(predict_step(machine(0), shape_, input).exposed, 0) << batch;
    }
  }
}

// `strata bench overlap` counts as many in BERT-large's own layout.
TEST(GradientBuckets, HaveTheNumberOfTheModelsBuckets) {
  const std::pair<double, size_t> cases[] = {{25e6, 26}, {50e6, 13}, {100e6, 7}, {150e6, 5}};
  for (const auto& [bytes, buckets] : cases) {
    const std::vector<Bucket> made = gradient_buckets({}, bytes);
    EXPECT_EQ(made.size(), buckets) << bytes;
    double sum = 0;
    for (const Bucket& bucket : made) sum += bucket.bytes;
    EXPECT_NEAR(sum, 2 * ModelShape{}.parameters, 1);
    EXPECT_EQ(made.back().backward_left, 0);
  }
}

// Ten layers of 90 KB and words of 100 KB, in buckets of 180 KB: five of two layers, then the
// words.
TEST_F(StepTimeOverANetwork, BucketsEachCostAMessage) {
  shape_.layer_parameters = 4.5e4;
  const Layout buckets{.bucket_bytes = 1.8e5};
  // Communication after backward is exposed. On the slow network this is all except the backward
  // after the first bucket; on the fast one, the buckets that are complete with the first layer or
  // later.
  EXPECT_NEAR(exposed(buckets), 1.8 - 0.8 * 0.02, 1e-12);
  EXPECT_NEAR(exposed(buckets, 1e9), 0.28 * 1.8e-3, 1e-12);
  const auto with_latency = [&](double seconds) {
    return predict_step(machine(0), shape_,
                        {.ranks = 10,
                         .nodes = 10,
                         .batch = 100,
                         .network = flat_network({seconds, 1e6}),
                         .layout = buckets})
        .exposed;
  };
  // A tree of 10 ranks is 4 high: 8 messages per bucket.
  EXPECT_NEAR(with_latency(1e-3) - with_latency(0), 6 * 8e-3, 1e-12);
}

TEST_F(StepTimeOverANetwork, TheClipModeDecidesWhenCommunicationBegins) {
  EXPECT_NEAR(exposed({.clip = Clip::kBeforeAllReduce}), 1.8, 1e-12);
  EXPECT_NEAR(exposed({.clip = Clip::kBeforeAllReduce}, 1e9), 1.8e-3, 1e-12);
  EXPECT_EQ(exposed({.clip = Clip::kAfterAllReduce}), exposed({.clip = Clip::kNone}));
  // Weights are gathered when all ranks know the norm: half of the bytes, after the other half.
  EXPECT_NEAR(exposed({.sharding = Sharding::kState, .clip = Clip::kAfterAllReduce}, 1e9),
              0.19 * 0.9e-3 + 0.9e-3, 1e-12);
  EXPECT_NEAR(exposed({.sharding = Sharding::kState}, 1e9), 0.19 * 1.8e-3, 1e-12);
}

TEST_F(StepTimeOverANetwork, UpdatesFillTheWaitUnlessAllAwaitTheNorm) {
  Calibration calibration = machine(0);
  calibration.costs.update = 8e-3;
  StepInput input{.ranks = 10, .nodes = 10, .batch = 100, .network = flat_network({0, 1e6})};
  EXPECT_NEAR(predict_step(calibration, shape_, input).exposed, 1.8 - 0.9 * 0.02 - 8e-3, 1e-12);
  input.layout.clip = Clip::kAfterAllReduce;
  EXPECT_NEAR(predict_step(calibration, shape_, input).exposed, 1.8 - 0.9 * 0.02, 1e-12);
}

TEST_F(StepTimeOverANetwork, TiedEmbeddingSplitLeavesOnlyTheSparseRowsExposed) {
  shape_.hidden = 100;
  shape_.mean_tokens = 5;
  // 0.1 x 5e5 / 100 = 500 words; 500 tokens have 500 (1 - 1 / e) different ones.
  const double late = 0.1 * (1 - std::exp(-1.0));
  EXPECT_NEAR(exposed({.clip = Clip::kNone, .split_tied_embedding = true}, 1e9),
              (late + 0.09) * 1.8e-3, 1e-12);
  EXPECT_NEAR(exposed({.clip = Clip::kNone, .split_tied_embedding = true}), (1 + late) * 1.8 - 0.02,
              1e-12);
}

// Each of five micro-batches takes 2 ms forward and 4 ms backward; a layer takes a tenth.
TEST_F(StepTimeOverANetwork, ShardsAreSentForEveryMicroBatch) {
  // Five reduce-scatters of 0.9 s and a gather of 0.9 s. Nothing is sent in the first forward, nor
  // in the last layer's backward, because the heads wait until the words' gradient has left its
  // memory.
  EXPECT_NEAR(exposed({.micro_batches = 5, .sharding = Sharding::kGradients}),
              6 * 0.9 + 2e-3 + 5 * 0.4e-3 - 0.03, 1e-12);
  // One gather of all weights, nine of the seven layers in ten that do not stay in memory (0.63 of
  // the bytes), and five reduce-scatters. Nothing is sent during the last layer's forward and
  // backward and, from the second time on, the last but one's forward.
  EXPECT_NEAR(exposed({.micro_batches = 5, .sharding = Sharding::kAll}),
              0.9 * (1 + 9 * 0.63 + 5) + 5 * 0.6e-3 + 4 * 0.2e-3 - 0.03, 1e-12);
  EXPECT_NEAR(exposed({.micro_batches = 5, .order = Order::kLayer, .sharding = Sharding::kAll}),
              0.9 * (1 + 0.63 + 1) + 5 * 0.6e-3 - 0.03, 1e-12);
  // When the norm is known, all weights are gathered.
  EXPECT_NEAR(exposed({.sharding = Sharding::kGradients, .clip = Clip::kAfterAllReduce}, 1e9),
              0.19 * 0.9e-3 + 0.9e-3, 1e-12);
}

// Two stages of five replicas: the first has 0.1 + 0.9 / 2 of 1 MB.
TEST_F(StepTimeOverANetwork, MessagesAndReductionsWaitForEachOther) {
  shape_.hidden = 100;
  shape_.mean_tokens = 5;
  StepInput input{.ranks = 10,
                  .nodes = 10,
                  .batch = 100,
                  .network = flat_network({0, 2e7}),
                  .layout = {.stages = 2, .modular = true, .micro_batches = 2}};
  // 2 x 0.8 x 0.55 MB take 44 ms: 36 ms for five layers of the first stage, 8 ms for its tied
  // words. A message of ten samples, 5 tokens x 100 x 2 bytes, takes 0.5 ms. A layer's run takes 1
  // ms forward and 2 ms backward. In forward a run comes round after 2 x 1.5 ms; in backward,
  // behind a reduction, after 2 x (2.5 + 7.2) ms, and the last run uses the link for 1 + 7.2 ms.
  const double forward = 4 * 3.0 + 2 + 1.5 - 10, backward = 4 * 19.4 + 8.2 + 2.5 - 20;
  StepTime step = predict_step(machine(0), shape_, input);
  EXPECT_NEAR(step.bubble, 1e-3 * (forward + backward), 1e-12);
  // All except the last layer's and the words' gradients have been sent by then.
  EXPECT_NEAR(step.exposed, 7.2e-3 + 8e-3, 1e-12);

  // Reductions that wait for the norm delay no message.
  input.layout.clip = Clip::kBeforeAllReduce;
  step = predict_step(machine(0), shape_, input);
  EXPECT_NEAR(step.bubble, 1e-3 * (forward + 4 * 5.0 + 4 + 2.5 - 20), 1e-12);
  EXPECT_NEAR(step.exposed, 44e-3, 1e-12);
}

// The calibrated node of five ranks has sent 1 MB at 1 MB/s, 1.6 s, whose exposed part is in its
// constant. Two such domains of one card at 2 MB/s send 0.5 s more.
TEST_F(StepTimeOverANetwork, CountsBeyondTheCalibratedDomain) {
  Calibration calibration = machine();
  calibration.ranks_per_node = 5;
  StepInput input{.ranks = 10,
                  .batch = 100,
                  .network = Network{.domain = 5, .inside = {0, 1e6}, .card = {0, 2e6}}};
  EXPECT_NEAR(predict_step(calibration, shape_, input).exposed, 0.5 + 5e-3, 1e-12)
      << "with what the network does not explain";
  input.ranks = 5;
  input.batch = 50;
  EXPECT_EQ(predict_step(calibration, shape_, input).exposed, 0);
  calibration.ranks_per_node = 1;
  EXPECT_NEAR(predict_step(calibration, shape_, input).exposed, 1.6 - 0.9 * 0.02, 1e-12);
}

// Two stages lie in one domain: their messages take its link, and reductions of both the card.
TEST_F(StepTimeOverANetwork, StagesOfADomainSendInsideIt) {
  shape_.hidden = 100;
  shape_.mean_tokens = 5;
  const StepInput input{.ranks = 4,
                        .batch = 40,
                        .network = Network{.domain = 2, .inside = {0, 2e7}, .card = {0, 2e6}},
                        .layout = {.stages = 2, .micro_batches = 2}};
  const StepTime step = predict_step(machine(0), shape_, input);
  // A message of ten samples, 10 KB, takes 0.5 ms. Ten layers' micro-batch takes 5 + 10 ms on a
  // stage. Two domains reduce 0.55 MB of the first stage in 0.55 MB / 1 MB/s.
  EXPECT_NEAR(step.bubble, 5e-3 + 10e-3 + 2 * 0.5e-3, 1e-12);
  EXPECT_NEAR(step.exposed, 0.55 - 0.8 * (10e-3 - 0.5e-3), 1e-12);
}

TEST_F(StepTimeOverANetwork, OneStageIsNoPipeline) {
  for (const double speed : {1e6, 2e7, 1e9}) {
    EXPECT_EQ(exposed({.modular = true, .micro_batches = 2}, speed),
              exposed({.micro_batches = 2}, speed));
  }
}

TEST_F(StepTimeOverANetwork, TheLastStageMaySendLast) {
  shape_.hidden = 100;
  shape_.mean_tokens = 5;
  // Four micro-batches of five layers take 5 ms each in backward; the last has a message of 0.25
  // ms.
  EXPECT_NEAR(exposed({.stages = 2, .micro_batches = 4}, 2e7), 44e-3 - 0.8 * 4.75e-3, 1e-12);
}

TEST(StepTime, RecomputingAddsOneForward) {
  ModelShape shape;
  shape.heads_share = 0;
  EXPECT_NEAR(predict_step(machine(), shape, {.batch = 10, .layout = {.recompute = true}}).total(),
              40e-3 + 20e-3, 1e-12);
}

TEST(StepTime, ModulesRunBackwardInTurnOrAtOnce) {
  ModelShape shape;
  shape.heads_share = 0;
  StepInput input{.ranks = 2, .nodes = 2, .batch = 10, .layout = {.modules = 3}};
  EXPECT_NEAR(predict_step(machine(), shape, input).total(), 30e-3 + 20e-3, 1e-12);
  input.layout.delayed = true;
  EXPECT_NEAR(predict_step(machine(), shape, input).total(), 10e-3 + 20e-3 * 2 / 3 + 20e-3, 1e-12);
}

TEST(StepTime, StagesWaitAndShareTheConstantOfTheirLayers) {
  StepInput input{.ranks = 8,
                  .nodes = 1,
                  .batch = 320,
                  .layout = {.stages = 2, .modular = false, .micro_batches = 8}};
  const StepTime contiguous = predict_step(machine(), {}, input);
  EXPECT_NEAR(contiguous.compute, 120e-3, 1e-12);
  EXPECT_NEAR(contiguous.bubble, 120e-3 / 8, 1e-12);
  // Eight micro-batches repeat half of the constant on half of the layers, and the rest stays.
  EXPECT_NEAR(contiguous.constant, 8 * 10e-3 / 2 + 10e-3, 1e-12);
  Calibration calibration = machine();
  calibration.costs.update = 4e-3;
  EXPECT_NEAR(predict_step(calibration, {}, input).constant, 8 * 10e-3 / 2 + 6e-3 + 4e-3 / 2,
              1e-12);
  input.layout.modular = true;
  // 1 / (8 x 12) is less than the heads' and embeddings' time on stage 0, 2 x 0.016.
  EXPECT_NEAR(predict_step(machine(), {}, input).bubble, 120e-3 * 0.032, 1e-12);
}

TEST(StepTime, ImbalanceDependsOnStrategyAndRanks) {
  const double random = simulated_imbalance("random", 256, 1024);
  const double planned = simulated_imbalance("planned", 256, 1024);
  EXPECT_GT(random, 1.3) << "of 256 ranks one draws four long samples";
  EXPECT_LT(random, 2);
  EXPECT_GE(planned, 1);
  EXPECT_LT(planned, 1.1);
  EXPECT_EQ(simulated_imbalance("random", 1, 1024), 1);
  EXPECT_GE(simulated_imbalance("planned", 16, 1e12), 1) << "no memory for so many";
}

TEST(StepTime, MemoryIsShardedAsInZero) {
  ModelShape shape;
  shape.parameters = 1e9;
  StepInput input{.ranks = 4, .batch = 4};
  // One sample of 512 tokens: T (7 H + 2 I) 2 + T (A + 2) 4 + T H 2, 24 layers.
  // All layers share T (6 H + I) 2.
  const double layers = 24 * (512.0 * (7 * 1024 + 2 * 4096) * 2 + 512 * 18 * 4 + 512 * 1024 * 2) +
                        512 * (6 * 1024 + 4096) * 2;
  EXPECT_NEAR(rank_memory(shape, input), 18e9 + layers, 1);
  input.layout.sharding = Sharding::kState;
  EXPECT_NEAR(rank_memory(shape, input), 10e9 + 8e9 / 4 + layers, 1);
  input.layout.sharding = Sharding::kAll;
  const double turns = 2 * shape.layer_parameters * 6;
  EXPECT_NEAR(rank_memory(shape, input), 18e9 / 4 + turns + layers, 1);
  // Two stages hold half the model; their replicas take two samples each, all in flight, with a
  // workspace of one sample.
  input.layout = {.stages = 2, .micro_batches = 2};
  EXPECT_NEAR(rank_memory(shape, input), 9e9 + layers, 1);
}

}  // namespace
}  // namespace strata::plan

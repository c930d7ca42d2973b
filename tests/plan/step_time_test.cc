#include "plan/step_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace strata::plan {
namespace {

Calibration machine() {
  Calibration calibration;
  calibration.costs = {
      .per_sample = 3e-3, .per_step = 20e-3, .between_nodes = 5e-3, .repeated = 0.5};
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

// M = 1 MB over 10 ranks at 1 MB/s: C = 1.8 s. Backward of 10 samples: 20 ms.
TEST(StepTime, WithANetworkBackwardHidesCommunication) {
  ModelShape shape;
  shape.parameters = 5e5;
  shape.tail = 0.1;
  StepInput input{.ranks = 10, .nodes = 10, .batch = 100, .network = Link{0, 1e6}};
  EXPECT_NEAR(predict_step(machine(), shape, input).exposed, 1.8 - 0.02, 1e-12);
  input.layout = {.micro_batches = 5};
  EXPECT_NEAR(predict_step(machine(), shape, input).exposed, 1.8 - 0.004, 1e-12)
      << "only the last micro-batch's backward";
  input.layout.order = Order::kLayer;
  EXPECT_NEAR(predict_step(machine(), shape, input).exposed, 1.8 - 0.02, 1e-12)
      << "that of all micro-batches";
  input.network->bytes_per_second = 1e9;
  EXPECT_NEAR(predict_step(machine(), shape, input).exposed, 0.1 * 1.8e-3, 1e-12)
      << "what only the last block completes";
  // Weights are gathered twice and gradients scattered once, of every micro-batch.
  input = {.ranks = 10,
           .nodes = 10,
           .batch = 100,
           .network = Link{0, 1e6},
           .layout = {.micro_batches = 5, .sharding = Sharding::kAll}};
  EXPECT_NEAR(predict_step(machine(), shape, input).exposed, 1.8 * 1.5 * 5 - 0.03, 1e-12);
}

TEST(StepTime, StagesWaitAndShareTheConstant) {
  StepInput input{.ranks = 8,
                  .nodes = 1,
                  .batch = 320,
                  .layout = {.stages = 2, .modular = false, .micro_batches = 8}};
  const StepTime contiguous = predict_step(machine(), {}, input);
  EXPECT_NEAR(contiguous.compute, 120e-3, 1e-12);
  EXPECT_NEAR(contiguous.bubble, 120e-3 / 8, 1e-12);
  EXPECT_NEAR(contiguous.constant, 20e-3 * 4.5 / 2, 1e-12);
  input.layout.modular = true;
  // 1 / (8 x 12) is less than heads and embeddings take on stage 0, 2 x 0.016.
  EXPECT_NEAR(predict_step(machine(), {}, input).bubble, 120e-3 * 0.032, 1e-12);
}

TEST(StepTime, ImbalanceIsTheStrategysAtThatSize) {
  const double random = simulated_imbalance("random", 256, 1024);
  const double planned = simulated_imbalance("planned", 256, 1024);
  EXPECT_GT(random, 1.3) << "of 256 ranks one draws four long samples";
  EXPECT_LT(random, 2);
  EXPECT_GE(planned, 1);
  EXPECT_LT(planned, 1.1);
  EXPECT_EQ(simulated_imbalance("random", 1, 1024), 1);
  EXPECT_GE(simulated_imbalance("planned", 16, 1e12), 1) << "no memory for so many";
}

TEST(StepTime, MemoryIsSharedAsZeroDoes) {
  ModelShape shape;
  shape.parameters = 1e9;
  StepInput input{.ranks = 4, .batch = 4};
  // One sample of 512 tokens: T (7 H + 2 I) 2 + T (A + 2) 4 + T H 2, 24 layers.
  const double layers = 24 * (512.0 * (7 * 1024 + 2 * 4096) * 2 + 512 * 18 * 4 + 512 * 1024 * 2);
  EXPECT_NEAR(rank_memory(shape, input), 18e9 + layers, 1);
  input.layout.sharding = Sharding::kState;
  EXPECT_NEAR(rank_memory(shape, input), 10e9 + 8e9 / 4 + layers, 1);
  input.layout.sharding = Sharding::kAll;
  const double turns = 2 * shape.layer_parameters * 6;
  EXPECT_NEAR(rank_memory(shape, input), 18e9 / 4 + turns + layers, 1);
  // Two stages hold half the model; their replicas take two samples each, all in flight.
  input.layout = {.stages = 2, .micro_batches = 2};
  EXPECT_NEAR(rank_memory(shape, input), 9e9 + layers, 1);
}

}  // namespace
}  // namespace strata::plan

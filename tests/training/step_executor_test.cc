#include "training/step/step_executor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/communicator.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/error_of.h"
#include "tests/training/small_training.h"
#include "training/factories/buckets.h"
#include "training/factories/optimizer.h"
#include "training/schedules/gathers.h"
#include "training/schedules/layer_order.h"
#include "training/schedules/micro_batch_order.h"

namespace strata::training {
namespace {

// Their batches have one shape.
data::Instances instances_of_one_length(int samples) {
  data::Instances out;
  for (int i = 0; i < samples; ++i) {
    for (int32_t t = 0; t < 12; ++t) out.tokens.push_back(kSmallestWord + (i * 7 + t) % 40);
    out.masked_positions.push_back(1 + i % 10);
    out.masked_ids.push_back(kSmallestWord + i);
    out.token_offsets.push_back(out.tokens.size());
    out.masked_offsets.push_back(out.masked_ids.size());
    out.first_lengths.push_back(6);
    out.next_sentence.push_back(static_cast<uint8_t>(i % 2));
  }
  return out;
}

// Forward runs one micro-batch ahead of backward, so two are in flight, and blocks are ready at the
// end.
Schedule one_ahead(int blocks, int micro_batches) {
  using enum Task::Kind;
  Schedule schedule{
      .name = "one_ahead", .blocks = blocks, .micro_batches = micro_batches, .in_flight = 2};
  const auto forward = [&](int m) {
    for (int block = 0; block < blocks; ++block) schedule.tasks.push_back({kForward, block, m});
  };
  forward(0);
  for (int m = 0; m < micro_batches; ++m) {
    if (m + 1 < micro_batches) forward(m + 1);
    for (int block = blocks - 1; block >= 0; --block) {
      schedule.tasks.push_back({kBackward, block, m});
      if (m + 1 == micro_batches) schedule.tasks.push_back({kReady, block, m});
    }
  }
  schedule.tasks.push_back({kUpdate, 0, micro_batches - 1});
  return schedule;
}

class StepExecutorTest : public testing::Test {
 protected:
  static constexpr int kMicroBatches = 3;

  StepExecutorTest() {
    for (int i = 0; i < kMicroBatches; ++i) {
      const auto first = static_cast<uint32_t>(4 * i);
      source_->read(std::array{first, first + 1, first + 2, first + 3}, batches_.emplace_back());
    }
  }

  // Returns the weights after `steps` steps in this schedule. Batches are uploaded as early as
  // possible.
  bert::HostWeights train(const Schedule& schedule, device::Backend& backend, bool graphs = false,
                          uint64_t steps = 2) {
    const config::RunConfig config = small_run();
    const bert::BertConfig bert = small_bert();
    bert::Model model(bert, backend, capacity_of(*source_, 4),
                      {.in_flight = schedule.in_flight,
                       .recompute = schedule.recomputes,

                       .word_gradient = bert::WordGradient::kSplit});
    model.set_weights(bert::random_weights(model.layout(), 1));
    const auto single_rank = comm::make_single_communicator();
    const auto optimizer = make_optimizer(config, backend, model, *single_rank);
    const auto buckets = make_gradient_buckets(backend, *single_rank, model,
                                               bucket_options(config, model), *optimizer);
    StepWork work(model, schedule);
    StepExecutor executor(work, *buckets,
                          graphs ? std::make_unique<device::GraphCache>(backend) : nullptr);
    size_t uploaded = 0;
    const auto upload_next = [&] {
      model.upload(batches_[uploaded++ % static_cast<size_t>(schedule.micro_batches)]);
    };
    upload_next();
    for (uint64_t step = 1; step <= steps; ++step) {
      optimizer->begin_step(device::Stream::kCompute, static_cast<int64_t>(step), 1e-3);
      executor.begin_step(static_cast<int64_t>(step));
      for (const GraphSegment& segment : executor.segments()) {
        if (segment.begins) work.begin(segment.micro_batch, {.seed = 1, .step = step});
        executor.run(segment);
        if (segment.begins) upload_next();
      }
    }
    return model.weights();
  }
  bert::HostWeights train(const Schedule& schedule) {
    return train(schedule, *make_backend(small_run()));
  }

  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(16));
  std::vector<data::PackedBatch> batches_;
};

TEST_F(StepExecutorTest, EveryOrderOfWorkTrainsTheSameBits) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const bert::HostWeights expected = train(micro_batch_order(blocks, kMicroBatches));
  for (const bool recompute : {false, true}) {
    EXPECT_EQ(train(micro_batch_order(blocks, kMicroBatches, recompute)), expected);
    EXPECT_EQ(train(layer_order(blocks, kMicroBatches, recompute)), expected);
  }
}

// Recomputed forwards are issued and launched in their places.
TEST_F(StepExecutorTest, RecomputedActivationsDoNotOverwriteOtherMicroBatches) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const auto cpu = make_backend(small_run());
  const bert::HostWeights expected = train(micro_batch_order(blocks, kMicroBatches), *cpu);
  for (uint64_t seed = 0; seed < 3; ++seed) {
    testing_support::DeferredBackend late(*cpu, seed);
    EXPECT_EQ(train(layer_order(blocks, kMicroBatches, true), late), expected);
    EXPECT_EQ(train(layer_order(blocks, kMicroBatches, false), late), expected);
    EXPECT_EQ(train(micro_batch_order(blocks, kMicroBatches, true), late, true), expected);
  }
}

// A late device computes with the data that it had when work was issued, so activations, batches
// and graphs of the two micro-batches in flight must be separate.
TEST_F(StepExecutorTest, MicroBatchesInFlightDoNotTouchEachOther) {
  constexpr uint64_t kSteps = 6;
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  // All batches have one shape, so that graphs are shared.
  const auto source = open_small(instances_of_one_length(16));
  batches_.resize(4);
  for (uint32_t i = 0; i < 4; ++i) {
    source->read(std::array{4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3}, batches_[i]);
  }
  const Schedule schedule = one_ahead(blocks, 4);
  const auto cpu = make_backend(small_run());
  const bert::HostWeights expected = train(schedule, *cpu, false, kSteps);
  const bert::HostWeights in_turn = train(micro_batch_order(blocks, 4), *cpu, false, kSteps);
  EXPECT_EQ(expected, in_turn);
  for (const bool graphs : {false, true}) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      testing_support::DeferredBackend late(*cpu, seed);
      EXPECT_EQ(train(schedule, late, graphs, kSteps), expected)
          << (graphs ? "launched" : "issued");
      EXPECT_GE(late.launches(), graphs ? 5 : 0);
    }
  }
}

// Its gradients are zeros, and the second micro-batch adds to them already in forward.
TEST_F(StepExecutorTest, TheFirstMicroBatchMayHaveNoMaskedPosition) {
  batches_[0].masked_positions.clear();
  batches_[0].masked_ids.clear();
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const bert::HostWeights expected = train(micro_batch_order(blocks, kMicroBatches));
  EXPECT_EQ(train(layer_order(blocks, kMicroBatches, false)), expected);
}

TEST_F(StepExecutorTest, BlocksReadyBeforeTheUpdateSegmentCannotBeCaptured) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const auto backend = make_backend(small_run());
  bert::Model model(small_bert(), *backend, capacity_of(*source_, 4), {.in_flight = 2});
  model.set_weights(bert::random_weights(model.layout(), 1));
  const config::RunConfig config = small_run();
  const auto single_rank = comm::make_single_communicator();
  const auto optimizer = make_optimizer(config, *backend, model, *single_rank);
  const auto buckets = make_gradient_buckets(*backend, *single_rank, model,
                                             bucket_options(config, model), *optimizer);
  StepWork work(model, layer_order(blocks, 2, false));
  EXPECT_EQ(testing_support::error_of([&] {
              StepExecutor(work, *buckets, std::make_unique<device::GraphCache>(*backend));
            }),
            "schedule layer_order: block 3 is ready before the last graph segment, so graphs "
            "cannot be captured; set device.graphs to false");
}

TEST_F(StepExecutorTest, AScheduleMustSuitTheModel) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  EXPECT_THROW(train(micro_batch_order(blocks + 1, 1)), Error);
  Schedule roomy = micro_batch_order(blocks, 1);
  const auto backend = make_backend(small_run());
  bert::Model model(small_bert(), *backend, capacity_of(*source_, 4));
  roomy.in_flight = 2;
  EXPECT_THROW(StepWork(model, roomy), Error) << "memory for one";
  EXPECT_THROW(StepWork(model, micro_batch_order(blocks, 1, true)), Error)
      << "memory for all layers";
  const Schedule gathering =
      with_gathers(micro_batch_order(blocks, 1), std::vector<int>(static_cast<size_t>(blocks)));
  EXPECT_EQ(testing_support::error_of([&] { StepWork(model, gathering); }),
            "schedule micro_batch_order: gathers weights, unlike the model");
}

}  // namespace
}  // namespace strata::training

#include "training/step_walker.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/communicator.h"
#include "tests/training/small_training.h"
#include "training/options.h"
#include "training/schedules/micro_batch_order.h"

namespace strata::training {
namespace {

// Every block of all micro-batches before the next block: forward and backward.
Schedule block_by_block(int blocks, int micro_batches) {
  using enum Task::Kind;
  Schedule schedule{.name = "block_by_block",
                    .blocks = blocks,
                    .micro_batches = micro_batches,
                    .in_flight = micro_batches};
  for (int block = 0; block < blocks; ++block) {
    for (int m = 0; m < micro_batches; ++m) schedule.tasks.push_back({kForward, block, m});
  }
  for (int block = blocks - 1; block >= 0; --block) {
    for (int m = 0; m < micro_batches; ++m) schedule.tasks.push_back({kBackward, block, m});
    schedule.tasks.push_back({kReady, block, micro_batches - 1});
  }
  schedule.tasks.push_back({kUpdate, 0, micro_batches - 1});
  return schedule;
}

class StepWalkerTest : public testing::Test {
 protected:
  static constexpr int kMicroBatches = 3;

  StepWalkerTest() {
    for (int i = 0; i < kMicroBatches; ++i) {
      const auto first = static_cast<uint32_t>(4 * i);
      source_->read(std::array{first, first + 1, first + 2, first + 3}, batches_.emplace_back());
    }
  }

  // Weights after two steps in this order of work.
  bert::HostWeights train(const Schedule& schedule) {
    config::RunConfig config = small_run();
    config.optimizer.lr = 1e-3;
    const bert::BertConfig bert = small_bert();
    const auto backend = make_backend(config);
    bert::Model model(bert, *backend, capacity_of(*source_, 4), {.in_flight = schedule.in_flight});
    model.set_weights(bert::random_weights(model.layout(), 1));
    const auto alone = comm::make_single_communicator();
    const auto optimizer = make_optimizer(config, *backend, model, *alone);
    const auto buckets =
        make_gradient_buckets(*backend, *alone, model, bucket_options(config, model), *optimizer);
    StepWalker walker(model, schedule, nullptr);
    for (uint64_t step = 1; step <= 2; ++step) {
      optimizer->begin_step(device::Stream::kCompute, static_cast<int64_t>(step), 1e-3);
      for (const Segment& segment : walker.segments()) {
        if (segment.begins) {
          model.upload(batches_[static_cast<size_t>(segment.micro_batch)]);
          walker.begin(segment, {.seed = 1, .step = step});
        }
        walker.run(segment, *buckets, nullptr);
      }
    }
    return model.weights();
  }

  static double largest_difference(const bert::HostWeights& a, const bert::HostWeights& b) {
    double largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
    }
    return largest;
  }

  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(16));
  std::vector<data::PackedBatch> batches_;
};

TEST_F(StepWalkerTest, AnotherOrderOfWorkTrainsTheSame) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const bert::HostWeights expected = train(micro_batch_order(blocks, kMicroBatches));
  const bert::HostWeights woven = train(block_by_block(blocks, kMicroBatches));
  EXPECT_LE(largest_difference(woven, expected), 1e-7) << "sums in another order";
}

// Its gradients are zeros, which the second micro-batch adds to, in forward already.
TEST_F(StepWalkerTest, TheFirstMicroBatchMayHaveNoMaskedPosition) {
  batches_[0].masked_positions.clear();
  batches_[0].masked_ids.clear();
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const bert::HostWeights expected = train(micro_batch_order(blocks, kMicroBatches));
  EXPECT_LE(largest_difference(train(block_by_block(blocks, kMicroBatches)), expected), 1e-6);
}

TEST_F(StepWalkerTest, WhatIsReadyAheadOfTheUpdatesSegmentCannotBeCaptured) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  const auto backend = make_backend(small_run());
  bert::Model model(small_bert(), *backend, capacity_of(*source_, 4), {.in_flight = 2});
  EXPECT_THROW(
      StepWalker(model, block_by_block(blocks, 2), std::make_unique<device::GraphCache>(*backend)),
      Error);
}

TEST_F(StepWalkerTest, AScheduleMustSuitTheModel) {
  const int blocks = static_cast<int>(small_bert().layers) + 2;
  EXPECT_THROW(train(micro_batch_order(blocks + 1, 1)), Error);
  Schedule roomy = micro_batch_order(blocks, 1);
  config::RunConfig config = small_run();
  const auto backend = make_backend(config);
  bert::Model model(small_bert(), *backend, capacity_of(*source_, 4));
  roomy.in_flight = 2;
  EXPECT_THROW(StepWalker(model, roomy, nullptr), Error) << "memory for one";
}

}  // namespace
}  // namespace strata::training

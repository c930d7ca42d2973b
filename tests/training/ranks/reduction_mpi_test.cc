// The order and the precision in which ranks add up gradients.
#include <vector>

#include "tests/training/ranks/trainer_over_ranks.h"

namespace strata::training {
namespace {

// There are more buckets, and their reduction begins earlier. Norms are summed by bucket, so the
// last bits may differ if gradients are clipped.
TEST_P(TrainerOverRanks, HalfLayerBucketsTrainTheSameWeights) {
  const bool clips = GetParam().clip != config::ClipMode::kNone;
  if (GetParam().clip == config::ClipMode::kBucketBeforeAllReduce) {
    GTEST_SKIP() << "other buckets are clipped otherwise";
  }
  struct Case {
    config::AccumulationOrder order;
    config::NormKind norm;
    double theta = 1;  // of layers that are dropped
  };
  using Order = config::AccumulationOrder;
  for (const auto& [order, norm, theta] : {Case{Order::kMicroBatch, config::NormKind::kPost},
                                           Case{Order::kLayer, config::NormKind::kPost},
                                           Case{Order::kMicroBatch, config::NormKind::kPre},
                                           Case{Order::kMicroBatch, config::NormKind::kPre, 0.5}}) {
    config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
    config.batch.accumulation_order = order;
    bert::BertConfig bert = small_bert();
    bert.norm = config.model.norm = norm;
    if (theta < 1) config.layer_drop = {.theta = theta, .gamma = 10};
    config.reduce.bucket_megabytes = 0.02;
    const auto cpu = make_backend(config);
    const auto history = [&](device::Backend& backend) {
      return train(config, backend, *world_, *source_, 7, 4, nullptr, bert);
    };
    const TrainingHistory whole = history(*cpu);
    config.reduce.half_layers = true;
    const TrainingHistory halves = history(*cpu);
    testing_support::DeferredBackend deferred(*cpu, static_cast<uint64_t>(world_->rank()));
    EXPECT_EQ(history(deferred).weights, halves.weights) << "behind the host";
    if (clips) {
      EXPECT_LE(largest_loss_difference(halves, whole), GetParam().bound);
    } else {
      EXPECT_EQ(halves.weights, whole.weights);
    }
  }
}

// The gradients of two ranks need a single addition, so bf16 also rounds once.
TEST(TrainerSums, InBf16MatchFp32OnlyOnTwoRanks) {
  const auto world = comm::make_mpi_communicator();
  const auto source = open_small(counting_instances(kSamples));
  for (const auto sharded : {kNone, kState}) {
    const auto weights = [&](config::ReduceAccumulation accumulate, int chunk) {
      config::RunConfig config = run_of({config::ClipMode::kAfterAllReduce, kClips, kRandom, kBF16},
                                        kGlobalBatch / world->size(), 1);
      config.optimizer.sharded = sharded;
      config.reduce.accumulate = accumulate;
      config.reduce.chunk = chunk;
      return train(config, *world, *source, 7, 4).weights;
    };
    using Kind = config::ReduceAccumulation;
    const auto once = weights(Kind::kFp32, 4), row = weights(Kind::kBf16, 4);
    EXPECT_EQ(once == row, world->size() <= 2);
    EXPECT_EQ(weights(Kind::kBf16Chunked, world->size() + 1), row);
    EXPECT_EQ(weights(Kind::kBf16Chunked, 2) == row, world->size() <= 3);
  }
}

// The dense part of the tied gradient is reduced first and the sparse rows last, so sums have
// another order.
class TiedEmbeddingSplit : public TrainerOverRanks {};
INSTANTIATE_TEST_SUITE_P(
    Modes, TiedEmbeddingSplit,
    testing::Values(Mode{config::ClipMode::kNone, 1, kRandom, kF32, kFp32},
                    Mode{config::ClipMode::kNone, 1, kRandom, kBF16, kBf16},
                    Mode{config::ClipMode::kAfterAllReduce, kClips, kStratified, kF32, kFp32},
                    Mode{config::ClipMode::kAfterAllReduce, kClips, kRandom, kF32, kFp32, kLamb}),
    name_of_mode);
TEST_P(TiedEmbeddingSplit, HasTheSameLosses) {
  const TrainingHistory whole = on_a_single_rank(1);
  config::RunConfig config = run_of(GetParam(), kGlobalBatch / 2 / world_->size(), 2);
  config.reduce.split_tied_embedding = true;
  const TrainingHistory early = train(config, *world_, *source_, 7, kSteps);
  EXPECT_LE(largest_loss_difference(early, whole), GetParam().bound);
  config.batch.accumulation_order = config::AccumulationOrder::kLayer;
  EXPECT_EQ(train(config, *world_, *source_, 7, kSteps).weights, early.weights);
}

}  // namespace
}  // namespace strata::training

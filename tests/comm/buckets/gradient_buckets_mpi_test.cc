#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/buckets/sharding/gather_groups.h"
#include "device/memory/buffer.h"
#include "tests/comm/buckets/bucket_step.h"

namespace strata::comm {
namespace {

using device::BFloat16;
using device::DType;

struct Case {
  ClipMode clip;
  DType reduce_dtype;
  DType master_dtype = DType::kF32;
  bool memory_is_host = true;  // false: streams instead of threads
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const bool memory_is_host : {true, false}) {
    for (const ClipMode clip : {ClipMode::kNone, ClipMode::kAfterAllReduce,
                                ClipMode::kBeforeAllReduce, ClipMode::kBucketBeforeAllReduce}) {
      for (const DType reduce_dtype : {DType::kF32, DType::kBF16}) {
        all.push_back({clip, reduce_dtype, DType::kF32, memory_is_host});
      }
    }
    all.push_back({ClipMode::kAfterAllReduce, DType::kF64, DType::kF64, memory_is_host});
    all.push_back({ClipMode::kBucketBeforeAllReduce, DType::kF32, DType::kF64, memory_is_host});
  }
  return all;
}

class GradientBucketsOverRanks : public testing::TestWithParam<Case> {
 protected:
  static constexpr float kMaxNorm = 1.5f;
  static constexpr int kMicroBatches = 2;

  GradientBucketsOverRanks()
      : step_(GetParam().master_dtype, GetParam().memory_is_host),
        buckets_(step_.backend, *world_, step_.gradients(), kBoundaries,
                 {.clip = GetParam().clip,
                  .max_norm = kMaxNorm,
                  .reduce_dtype = GetParam().reduce_dtype,
                  .bucket_bytes =
                      kBucketElements * static_cast<int64_t>(size_of(GetParam().reduce_dtype))},
                 step_.update()) {}

  // Runs one step of two micro-batches; backward reports its ranges during the last.
  StepTimes run_step(int step) {
    std::fill(step_.applied.begin(), step_.applied.end(), 0.0);
    for (int micro = 0; micro < kMicroBatches; ++micro) {
      step_.set(gradient_of(world_->rank(), step, micro), micro > 0);
    }
    for (size_t i = 1; i < kBoundaries.size(); ++i) {
      buckets_.mark_ready(kBoundaries[i - 1], kBoundaries[i]);
    }
    return buckets_.finish_step();
  }

  // Returns the arena of `rank` after both micro-batches.
  std::vector<double> accumulated(int rank, int step) const {
    const std::vector<float> first = gradient_of(rank, step, 0),
                             second = gradient_of(rank, step, 1);
    std::vector<double> sum(kGradients);
    for (int64_t i = 0; i < kGradients; ++i) {
      sum[i] = GetParam().master_dtype == DType::kF64 ? double{first[i]} + double{second[i]}
                                                      : double{first[i] + second[i]};
    }
    return sum;
  }

  std::vector<std::vector<double>> all_ranks(int step) const {
    std::vector<std::vector<double>> result;
    for (int rank = 0; rank < world_->size(); ++rank) result.push_back(accumulated(rank, step));
    return result;
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  BucketStep step_;
  GradientBuckets buckets_;
};

INSTANTIATE_TEST_SUITE_P(Modes, GradientBucketsOverRanks, testing::ValuesIn(cases()),
                         [](const auto& param) {
                           return name_of(param.param.clip) + "_" +
                                  device::name_of(param.param.reduce_dtype) + "_of_" +
                                  device::name_of(param.param.master_dtype) +
                                  (param.param.memory_is_host ? "_on_host" : "_on_device");
                         });

// Tolerance per element: the rounding errors of its clipped contributions and of their sum in
// reduce_dtype; in f32 also those of the norm and the factors.
std::vector<double> tolerances(std::vector<std::vector<double>> ranks, const Case& c,
                               const std::vector<double>& expected,
                               const std::vector<Range>& buckets, double max_norm) {
  const bool after = c.clip == ClipMode::kAfterAllReduce;
  const double factor =
      after ? norm_of(expected) / norm_of(expected_gradient(ranks, ClipMode::kNone, 0, {})) : 1.0;
  const bool converted = c.reduce_dtype == DType::kBF16 && ranks.size() > 1;
  for (auto& gradient : ranks) {
    for (double& value : gradient) value = std::abs(value);
  }
  auto result = expected_gradient(ranks, after ? ClipMode::kNone : c.clip, max_norm, buckets);
  // bf16: half a unit in the last of 8 significant bits, twice.
  for (double& value : result) value *= factor * (converted ? 2 * 0x1p-8 * 1.01 : 1e-6);
  return result;
}

TEST_P(GradientBucketsOverRanks, ApplyTheGradientsOfTheClipMode) {
  for (int step = 0; step < 3; ++step) {
    run_step(step);
    const auto ranks = all_ranks(step);
    const auto expected = expected_gradient(ranks, GetParam().clip, kMaxNorm, buckets_.buckets());
    const auto tolerance = tolerances(ranks, GetParam(), expected, buckets_.buckets(), kMaxNorm);
    for (int64_t i = 0; i < kGradients; ++i) {
      ASSERT_NEAR(step_.applied[i], expected[i], tolerance[i])
          << "step " << step << " element " << i;
    }
  }
}

TEST_P(GradientBucketsOverRanks, GiveAllRanksTheSameBits) {
  for (int step = 0; step < 3; ++step) {
    run_step(step);
    std::vector<double> first = step_.applied;
    world_->broadcast(first.data(), first.size() * sizeof(double), 0);
    EXPECT_EQ(std::memcmp(first.data(), step_.applied.data(), first.size() * sizeof(double)), 0);
  }
}

TEST_P(GradientBucketsOverRanks, ReportTheNormBeforeClipping) {
  run_step(7);
  const std::optional<double> norm = buckets_.gradient_norm();
  const auto ranks = all_ranks(7);
  if (GetParam().clip == ClipMode::kNone) {
    EXPECT_FALSE(norm);
    return;
  }
  const auto mean = expected_gradient(ranks, ClipMode::kNone, kMaxNorm, {});
  const double expected =
      norm_of(GetParam().clip == ClipMode::kAfterAllReduce ? mean : ranks[world_->rank()]);
  ASSERT_TRUE(norm);
  const bool rounded = GetParam().clip == ClipMode::kAfterAllReduce &&
                       GetParam().reduce_dtype == DType::kBF16 && world_->size() > 1;
  EXPECT_NEAR(*norm, expected, expected * (rounded ? 0x1p-8 : 1e-6));
}

// Plain gradient descent with its own executor, on the same gradients as the others.
class Descent {
 public:
  Descent(Communicator& world, const Case& c, bool sharded)
      : step_(c.master_dtype, c.memory_is_host),
        rank_(world.rank()),
        memory_(step_.backend, kGradients * sizeof(double)),
        buckets_(step_.backend, world, step_.gradients(), kBoundaries, options(c, sharded),
                 [this](const ReducedGradients& reduced) {
                   apply_(reduced);
                   for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
                     weights()[i] -= 0.25 * step_.applied[static_cast<size_t>(i)];
                     ++updates_;
                   }
                 }) {}

  void run_step(int step) {
    std::fill(step_.applied.begin(), step_.applied.end(), 0.0);
    step_.set(gradient_of(rank_, step));
    for (size_t i = 1; i < kBoundaries.size(); ++i) {
      buckets_.mark_ready(kBoundaries[i - 1], kBoundaries[i]);
    }
    buckets_.finish_step();
  }

  std::span<double> weights() const { return {memory_.as<double>(), kGradients}; }
  int64_t updates() const { return updates_; }
  int64_t gathers() const {
    return std::count_if(buckets_.times().begin(), buckets_.times().end(),
                         [](const OperationTime& e) { return e.lane == Lane::kGathers; });
  }
  const std::vector<Range>& buckets() const { return buckets_.buckets(); }
  size_t bucket_count() const { return buckets().size(); }

 private:
  BucketOptions options(const Case& c, bool sharded) const {
    BucketOptions options{
        .clip = c.clip,
        .max_norm = 1.5f,
        .reduce_dtype = c.reduce_dtype,
        .bucket_bytes = kBucketElements * static_cast<int64_t>(size_of(c.reduce_dtype))};
    if (sharded) options.gathered_weights = {memory_.data(), DType::kF64, 1, kGradients};
    return options;
  }

  BucketStep step_;
  int rank_;
  GradientBuckets::Update apply_ = step_.update();
  int64_t updates_ = 0;
  device::Buffer memory_;
  GradientBuckets buckets_;
};

TEST_P(GradientBucketsOverRanks, ShardedStateGivesTheSameWeightsWithAShareOfTheUpdates) {
  Descent whole(*world_, GetParam(), false), shared_out(*world_, GetParam(), true);
  for (int step = 0; step < 3; ++step) {
    whole.run_step(step);
    shared_out.run_step(step);
    ASSERT_TRUE(std::ranges::equal(whole.weights(), shared_out.weights())) << "step " << step;
  }
  const int ranks = world_->size();
  EXPECT_EQ(whole.updates(), 3 * kGradients);
  // All ranks have the same number of a bucket's elements, a multiple of eight; the last rank also
  // has the remainder.
  int64_t share = 0;
  for (const Range& bucket : whole.buckets()) {
    const int64_t each = bucket.size() / (8 * ranks) * 8;
    share += world_->rank() + 1 < ranks ? each : bucket.size() - each * (ranks - 1);
  }
  EXPECT_EQ(shared_out.updates(), 3 * share);
  std::vector<int64_t> updates = {shared_out.updates()};
  world_->all_reduce_sum(updates);
  EXPECT_EQ(updates[0], 3 * kGradients);
  EXPECT_EQ(whole.gathers(), 0);
  if (!GetParam().memory_is_host) return;  // nothing is timed
  EXPECT_EQ(shared_out.gathers(), ranks > 1 ? static_cast<int64_t>(whole.bucket_count()) : 0);
}

// Gradient descent with sharded gradients: gather groups share memory and are written as soon as it
// is free. This rank's sums lie elsewhere.
class ShardedDescent {
 public:
  ShardedDescent(Communicator& world, const Case& c, int rounds)
      : rank_(world.rank()),
        rounds_(rounds),
        backend_(c.master_dtype, c.memory_is_host),
        groups_(make_gather_groups(kBoundaries, make_buckets(kBoundaries, options(c)))),
        written_(arena_of_groups()),
        sums_(arena_of_shards(world, options(c))),
        weights_(backend_, kGradients * sizeof(double)),
        buckets_(backend_, world, written_, kBoundaries, sharded_options(c),
                 [this](const ReducedGradients& reduced) { update(reduced); }) {}

  void run_step(int step) {
    for (int round = 0; round < rounds_; ++round) {
      const std::vector<float> gradient = gradient_of(rank_, step, round);
      for (size_t i = 1; i < kBoundaries.size(); ++i) {
        const Range block{kBoundaries[i - 1], kBoundaries[i]};
        buckets_.begin_writing(block.begin, block.end);
        const device::Tensor memory = elements_of(written_, block);
        for (int64_t e = block.begin; e < block.end; ++e) {
          testing_support::set_element(memory, e - block.begin, gradient[static_cast<size_t>(e)]);
        }
        buckets_.mark_ready(block.begin, block.end);
      }
    }
    buckets_.finish_step();
  }

  std::span<double> weights() const { return {weights_.as<double>(), kGradients}; }
  std::optional<double> gradient_norm() { return buckets_.gradient_norm(); }

 private:
  static BucketOptions options(const Case& c) {
    return {.clip = c.clip,
            .max_norm = 1.5f,
            .reduce_dtype = c.reduce_dtype,
            .bucket_bytes = kBucketElements * static_cast<int64_t>(size_of(c.reduce_dtype))};
  }
  BucketOptions sharded_options(const Case& c) const {
    BucketOptions result = options(c);
    result.gathered_weights = {weights_.data(), DType::kF64, 1, kGradients};
    result.gradient_shards = sums_;
    result.rounds = rounds_;
    return result;
  }
  device::Tensor take(int64_t elements) {
    const DType dtype = backend_.master_dtype();
    memory_.emplace_back(backend_, static_cast<size_t>(elements) * size_of(dtype));
    return {memory_.back().data(), dtype, 1, elements};
  }
  device::Arena arena_of_groups() {
    const GatherGroupMemory memory = place_gather_groups(groups_);
    return {take(memory.elements), kGradients, memory.runs};
  }
  device::Arena arena_of_shards(const Communicator& world, const BucketOptions& options) {
    std::vector<Range> shards;
    for (const Range& bucket : make_buckets(kBoundaries, options)) {
      shards.push_back(local_shard(bucket, world));
    }
    return {take(device::total_size(shards)), kGradients, device::packed(shards)};
  }
  void update(const ReducedGradients& reduced) {
    double scale = reduced.clip.scale;
    if (reduced.clip.norm_squared) {
      scale *= std::min(1.0, reduced.clip.max_norm / std::sqrt(*reduced.clip.norm_squared));
    }
    const device::Tensor sums = elements_of(sums_, reduced.range);
    for (int64_t i = 0; i < sums.size(); ++i) {
      weights()[static_cast<size_t>(reduced.range.begin + i)] -=
          0.25 * (scale * testing_support::element(sums, i));
    }
  }

  int rank_;
  int rounds_;
  testing_support::HostBackend backend_;
  std::vector<device::Buffer> memory_;
  std::vector<Range> groups_;
  device::Arena written_, sums_;
  device::Buffer weights_;
  GradientBuckets buckets_;
};

TEST_P(GradientBucketsOverRanks, ShardedGradientsGiveTheSameWeights) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank has all of them";
  if (GetParam().clip == ClipMode::kBeforeAllReduce) {
    EXPECT_THROW(ShardedDescent(*world_, GetParam(), 1), Error);
    return;
  }
  Descent whole(*world_, GetParam(), false);
  ShardedDescent sharded(*world_, GetParam(), 1);
  for (int step = 0; step < 3; ++step) {
    whole.run_step(step);
    sharded.run_step(step);
    ASSERT_TRUE(std::ranges::equal(whole.weights(), sharded.weights())) << "step " << step;
  }
}

// Every micro-batch's gradients are reduced and then accumulated.
TEST_P(GradientBucketsOverRanks, ShardedGradientsAddUpOverRounds) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank has all of them";
  const Case& c = GetParam();
  if (c.clip == ClipMode::kBeforeAllReduce || c.clip == ClipMode::kBucketBeforeAllReduce) {
    EXPECT_THROW(ShardedDescent(*world_, c, kMicroBatches), Error);
    return;
  }
  ShardedDescent sharded(*world_, c, kMicroBatches);
  std::vector<double> before(kGradients);
  for (int step = 0; step < 3; ++step) {
    sharded.run_step(step);
    const auto ranks = all_ranks(step);
    const auto expected = expected_gradient(ranks, c.clip, kMaxNorm, buckets_.buckets());
    for (int64_t i = 0; i < kGradients; ++i) {
      const auto at = static_cast<size_t>(i);
      double largest = 0;  // largest term
      for (int rank = 0; rank < world_->size(); ++rank) {
        for (int micro = 0; micro < kMicroBatches; ++micro) {
          largest += std::abs(gradient_of(rank, step, micro)[at]) / world_->size();
        }
      }
      const double tolerance = largest * (c.reduce_dtype == DType::kBF16 ? 2 * 0x1p-8 : 2e-6);
      ASSERT_NEAR((before[at] - sharded.weights()[at]) / 0.25, expected[at], tolerance + 1e-9)
          << "step " << step << " element " << i;
    }
    std::ranges::copy(sharded.weights(), before.begin());
  }
}

TEST(GradientBucketsInSharedBuffers, MemoryIsNotOverwrittenBeforeItIsReduced) {
  const auto world = make_mpi_communicator();
  if (world->size() == 1) GTEST_SKIP() << "one rank has all of them";
  BucketStep step;
  const device::Arena shared({step.memory.data(), DType::kF32, 1, 64}, 128,
                             {{{0, 64}, 0}, {{64, 128}, 0}});
  const std::vector<int64_t> boundaries = {0, 64, 128};
  GradientBuckets buckets(step.backend, *world, shared, boundaries,
                          {.clip = ClipMode::kNone, .bucket_bytes = 256}, step.update());
  buckets.begin_writing(0, 64);
  EXPECT_THROW(buckets.begin_writing(64, 128), Error) << "bucket 0 is not ready";
  EXPECT_THROW(buckets.begin_writing(32, 96), Error) << "not in one run";
}

// Without clipping, results are known to the bit.
TEST(GradientBucketsOverRanksUnclipped, SumInRankOrderAndRoundBF16Once) {
  const auto world = make_mpi_communicator();
  BucketStep step;
  std::vector<float> sums(kGradients);
  GradientBuckets buckets(
      step.backend, *world, step.gradients(), kBoundaries,
      {.clip = ClipMode::kNone, .reduce_dtype = DType::kBF16, .bucket_bytes = 2 * kBucketElements},
      [&](const ReducedGradients& reduced) {
        for (int64_t i = reduced.range.begin; i < reduced.range.end; ++i) {
          sums[i] = step.gradients().as<float>()[i];
        }
      });
  step.set(gradient_of(world->rank(), 0));
  buckets.mark_ready(0, kGradients);
  buckets.finish_step();
  std::vector<std::vector<float>> gradients;
  for (int rank = 0; rank < world->size(); ++rank) gradients.push_back(gradient_of(rank, 0));
  for (int64_t i = 0; i < kGradients; ++i) {
    float sum = 0;
    for (const auto& gradient : gradients) sum += BFloat16(gradient[i]);
    const float expected = world->size() == 1 ? gradients[0][i] : float{BFloat16(sum)};
    ASSERT_EQ(sums[i], expected) << i;
  }
}

}  // namespace
}  // namespace strata::comm

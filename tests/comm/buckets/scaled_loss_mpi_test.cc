// Gradients of a scaled loss: the unscaled gradient is applied, and nothing is applied if any
// rank's gradients overflow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "comm/buckets/gradient_buckets.h"
#include "device/memory/buffer.h"
#include "tests/comm/buckets/bucket_step.h"

namespace strata::comm {
namespace {

using device::DType;

struct Case {
  ClipMode clip;
  DType reduce_dtype = DType::kF32;
  bool memory_is_host = true;  // false: streams instead of threads
  bool sharded = false;        // shard the optimizer state
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const ClipMode clip : {ClipMode::kNone, ClipMode::kAfterAllReduce,
                              ClipMode::kBeforeAllReduce, ClipMode::kBucketBeforeAllReduce}) {
    for (const DType reduce_dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      for (const bool memory_is_host : {true, false}) {
        all.push_back({clip, reduce_dtype, memory_is_host});
      }
    }
    all.push_back({clip, DType::kF32, true, true});
    all.push_back({clip, DType::kF16, true, true});
  }
  return all;
}

class ScaledLoss : public testing::TestWithParam<Case> {
 protected:
  static constexpr float kMaxNorm = 1.5f, kScale = 1024;

  ScaledLoss()
      : step_(DType::kF32, GetParam().memory_is_host),
        weights_(step_.backend, kGradients * sizeof(float)) {
    BucketOptions options{
        .clip = GetParam().clip,
        .max_norm = kMaxNorm,
        .reduce_dtype = GetParam().reduce_dtype,
        .bucket_bytes = kBucketElements * static_cast<int64_t>(size_of(GetParam().reduce_dtype)),
        .scaled_loss = true};
    if (GetParam().sharded) {
      options.gathered_weights = {weights_.data(), DType::kF32, 1, kGradients};
    }
    buckets_ = std::make_unique<GradientBuckets>(step_.backend, *world_, step_.gradients(),
                                                 kBoundaries, options, step_.update());
    buckets_->scale_loss(kScale);
  }

  int rank() const { return world_->rank(); }

  // Uses each rank's own gradients times the scale; sets elements `spoilt` of `spoilt_rank` to
  // `value`.
  void run_step(int step, const std::vector<int64_t>& spoilt = {}, float value = 0,
                int spoilt_rank = 0) {
    std::fill(step_.applied.begin(), step_.applied.end(), 0.0);
    std::vector<float> gradient = gradient_of(rank(), step);
    for (float& element : gradient) element *= kScale;
    for (const int64_t i : spoilt) {
      if (rank() == spoilt_rank) gradient[static_cast<size_t>(i)] = value;
    }
    step_.set(gradient);
    for (size_t i = 1; i < kBoundaries.size(); ++i) {
      buckets_->mark_ready(kBoundaries[i - 1], kBoundaries[i]);
    }
    buckets_->finish_step();
  }

  bool updates(int64_t i) const {
    if (!GetParam().sharded) return true;
    for (const Range& bucket : buckets_->buckets()) {
      const Range shard = local_shard(bucket, *world_);
      if (shard.begin <= i && i < shard.end) return true;
    }
    return false;
  }

  void expect_what_the_mode_defines(int step) {
    EXPECT_FALSE(buckets_->overflowed());
    std::vector<std::vector<double>> ranks;
    for (int other = 0; other < world_->size(); ++other) {
      const std::vector<float> gradient = gradient_of(other, step);
      ranks.emplace_back(gradient.begin(), gradient.end());
    }
    const auto expected = expected_gradient(ranks, GetParam().clip, kMaxNorm, buckets_->buckets());
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    // Half a unit in the last of 8 digits (bf16) or 11 (f16), twice.
    const double bound = GetParam().reduce_dtype == DType::kF32    ? 1e-6
                         : GetParam().reduce_dtype == DType::kBF16 ? 2 * 0x1p-8 * 1.01
                                                                   : 2 * 0x1p-11 * 1.01;
    for (int64_t i = 0; i < kGradients; ++i) {
      if (!updates(i)) continue;
      ASSERT_NEAR(step_.applied[i], expected[i], bound * largest) << i;
    }
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  BucketStep step_;
  device::Buffer weights_;
  std::unique_ptr<GradientBuckets> buckets_;
};

INSTANTIATE_TEST_SUITE_P(Modes, ScaledLoss, testing::ValuesIn(cases()), [](const auto& param) {
  return name_of(param.param.clip) + "_" + device::name_of(param.param.reduce_dtype) +
         (param.param.memory_is_host ? "_on_host" : "_on_device") +
         (param.param.sharded ? "_sharded" : "");
});

TEST_P(ScaledLoss, AppliedGradientsAreClippedAndUnscaled) {
  for (int step = 0; step < 3; ++step) {
    run_step(step);
    expect_what_the_mode_defines(step);
  }
}

TEST_P(ScaledLoss, TheNormIsThatOfTheUnscaledLoss) {
  run_step(1);
  const std::optional<double> scaled = buckets_->gradient_norm();
  if (GetParam().clip == ClipMode::kNone) {
    EXPECT_FALSE(scaled);
    return;
  }
  std::vector<double> mean(kGradients);
  for (int other = 0; other < world_->size(); ++other) {
    const std::vector<float> gradient = gradient_of(other, 1);
    for (int64_t i = 0; i < kGradients; ++i) mean[i] += gradient[i] / double(world_->size());
  }
  const std::vector<float> mine = gradient_of(rank(), 1);
  const double expected = GetParam().clip == ClipMode::kAfterAllReduce
                              ? norm_of(mean)
                              : norm_of(std::vector<double>(mine.begin(), mine.end()));
  EXPECT_NEAR(*scaled / expected, 1, GetParam().reduce_dtype == DType::kF32 ? 1e-6 : 2e-3);
}

TEST_P(ScaledLoss, NoRankUpdatesIfOneRankOverflows) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<double> untouched(kGradients);
  int step = 0;
  const std::pair<float, int64_t> spoilt[] = {
      {kInfinity, 0}, {-kInfinity, 355}, {std::numeric_limits<float>::quiet_NaN(), kGradients - 1}};
  for (const auto& [value, element] : spoilt) {
    for (int spoilt_rank = 0; spoilt_rank < world_->size(); ++spoilt_rank) {
      run_step(++step, {element}, value, spoilt_rank);
      EXPECT_TRUE(buckets_->overflowed()) << value << " at " << element;
      EXPECT_EQ(step_.applied, untouched) << value << " at " << element;
    }
    run_step(++step);
    expect_what_the_mode_defines(step);
  }
}

// The gradients are finite on every rank, but their sum, or what is sent, exceeds f16.
TEST_P(ScaledLoss, OverflowsInTheReduceDtypeCount) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < kGradients; i += 100) all.push_back(i);
  const bool clipped = GetParam().clip == ClipMode::kBeforeAllReduce ||
                       GetParam().clip == ClipMode::kBucketBeforeAllReduce;
  run_step(1, all, 1e5f);
  const bool narrow = GetParam().reduce_dtype == DType::kF16 && world_->size() > 1;
  EXPECT_EQ(buckets_->overflowed(), narrow && !clipped);
}

TEST(ScaledLossAlone, IsRefusedByBucketsWithoutLossScaling) {
  const auto world = make_mpi_communicator();
  for (const bool memory_is_host : {true, false}) {
    BucketStep step(DType::kF32, memory_is_host);
    GradientBuckets buckets(step.backend, *world, step.gradients(), kBoundaries, {}, step.update());
    EXPECT_THROW(buckets.scale_loss(2), Error);
    EXPECT_FALSE(buckets.overflowed());
  }
}

}  // namespace
}  // namespace strata::comm

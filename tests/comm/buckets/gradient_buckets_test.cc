#include "comm/buckets/gradient_buckets.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "device/memory/buffer.h"
#include "tests/comm/buckets/bucket_step.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/matchers.h"

namespace strata::comm {
namespace {

using device::DType;

constexpr auto kPatience = std::chrono::seconds(20);

BucketOptions options(ClipMode clip) {
  return {.clip = clip, .max_norm = 1.5f, .bucket_bytes = 4 * kBucketElements};
}

void report(GradientBuckets& buckets, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    buckets.mark_ready(kBoundaries[i], kBoundaries[i + 1]);
  }
}

constexpr size_t kRanges = 6;

// An event that one thread signals once to another.
class Signal {
 public:
  void raise() {
    if (!raised_.exchange(true)) promise_.set_value();
  }
  bool wait() { return future_.wait_for(kPatience) == std::future_status::ready; }
  bool raised() const { return raised_; }

 private:
  std::atomic<bool> raised_ = false;
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

class GradientBucketsInEveryMode : public testing::TestWithParam<ClipMode> {};

INSTANTIATE_TEST_SUITE_P(Modes, GradientBucketsInEveryMode,
                         testing::Values(ClipMode::kNone, ClipMode::kAfterAllReduce,
                                         ClipMode::kBeforeAllReduce,
                                         ClipMode::kBucketBeforeAllReduce),
                         [](const auto& param) { return name_of(param.param); });

TEST_P(GradientBucketsInEveryMode, ApplyTheClipModeInPlaceOnASingleRank) {
  BucketStep step;
  const auto world = make_single_communicator();
  BucketOptions bf16 = options(GetParam());
  bf16.reduce_dtype = DType::kBF16;  // nothing is sent, so nothing is rounded
  GradientBuckets buckets(step.backend, *world, step.gradients(), kBoundaries, bf16, step.update());
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> gradient = gradient_of(0, i);
    step.set(gradient);
    std::fill(step.applied.begin(), step.applied.end(), 0.0);
    report(buckets, 0, kRanges);
    buckets.finish_step();
    const auto expected =
        expected_gradient({{gradient.begin(), gradient.end()}}, GetParam(), 1.5, buckets.buckets());
    for (int64_t j = 0; j < kGradients; ++j) {
      ASSERT_NEAR(step.applied[j], expected[j], 1e-6 * std::abs(expected[j])) << j;
    }
  }
}

TEST_P(GradientBucketsInEveryMode, ReduceStartsBeforeBackwardEndsUnlessTheNormNeedsAllOfIt) {
  BucketStep step;
  Signal reduced;
  std::atomic<bool> backward_ended = false, reduced_during_backward = false;
  MirrorCommunicator world([&](int64_t) {
    if (!backward_ended) reduced_during_backward = true;
    reduced.raise();
  });
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          step.update());
  report(buckets, 0, kRanges - 1);
  const bool needs_all = GetParam() == ClipMode::kBeforeAllReduce;
  EXPECT_TRUE(needs_all || reduced.wait());
  backward_ended = true;
  report(buckets, kRanges - 1, kRanges);
  buckets.finish_step();
  EXPECT_EQ(reduced_during_backward, !needs_all);
}

TEST_P(GradientBucketsInEveryMode, UpdatesFollowTheirReduceUnlessTheNormNeedsAllOfThem) {
  BucketStep step;
  std::atomic<int> reduces = 0;
  Signal updated;
  bool in_order = true, updated_in_time = false;
  int updates = 0, bucket_count = 0;
  const bool needs_all = GetParam() == ClipMode::kAfterAllReduce;
  MirrorCommunicator world([&](int64_t count) {
    // The last bucket's all-reduce ends after the first update.
    if (reduces + 1 == bucket_count && !needs_all) updated_in_time = updated.wait();
    if (count > 1) ++reduces;
  });
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          [&](const ReducedGradients& reduced) {
                            const Range& expected = buckets.buckets()[updates++];
                            in_order &= reduced.range.begin == expected.begin &&
                                        reduced.range.end == expected.end && reduces >= updates;
                            in_order &= !needs_all || reduces == bucket_count;
                            updated.raise();
                          });
  bucket_count = static_cast<int>(buckets.buckets().size());
  report(buckets, 0, kRanges);
  buckets.finish_step();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(updates, bucket_count);
  EXPECT_EQ(updated_in_time, !needs_all);
}

TEST_P(GradientBucketsInEveryMode, UpdatesDoNotDisturbBackwardOnTheDevice) {
  BucketStep step;
  std::atomic<bool> backward_ended = false, updated_during_backward = false;
  Signal reduced;
  MirrorCommunicator world([&](int64_t) { reduced.raise(); });
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          [&](const ReducedGradients&) {
                            if (!backward_ended) updated_during_backward = true;
                          });
  report(buckets, 0, kRanges - 1);
  EXPECT_TRUE(GetParam() == ClipMode::kBeforeAllReduce || reduced.wait());
  backward_ended = true;
  report(buckets, kRanges - 1, kRanges);
  buckets.finish_step();
  EXPECT_FALSE(updated_during_backward);
}

TEST(GradientBuckets, WeightsToGatherAreUpdatedDuringBackward) {
  BucketStep step;
  Signal updated;
  MirrorCommunicator world;
  device::Buffer weights(step.backend, kGradients * sizeof(float));
  BucketOptions sharded = options(ClipMode::kBucketBeforeAllReduce);
  sharded.gathered_weights = {weights.data(), DType::kF32, 1, kGradients};
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, sharded,
                          [&](const ReducedGradients&) { updated.raise(); });
  report(buckets, 0, kRanges - 1);
  EXPECT_TRUE(updated.wait());
  report(buckets, kRanges - 1, kRanges);
  buckets.finish_step();
}

// A later bucket is reduced while an earlier one is being updated.
TEST(GradientBuckets, ReduceGoesOnDuringAnUpdate) {
  BucketStep step;
  Signal all_reported, last_reduced;
  std::atomic<size_t> reduces = 0;
  size_t bucket_count = 0;
  MirrorCommunicator world([&](int64_t) {
    all_reported.wait();
    if (++reduces == bucket_count) last_reduced.raise();
  });
  bool overlapped = false;
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries,
                          options(ClipMode::kNone), [&](const ReducedGradients& reduced) {
                            // The last bucket but one.
                            if (reduced.range.end == kBoundaries[kRanges - 1]) {
                              overlapped = last_reduced.wait();
                            }
                          });
  bucket_count = buckets.buckets().size();
  report(buckets, 0, kRanges);
  all_reported.raise();
  buckets.finish_step();
  EXPECT_TRUE(overlapped);
}

TEST_P(GradientBucketsInEveryMode, EveryBucketIsTracedOnceInOrder) {
  BucketStep step;
  MirrorCommunicator world;
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          step.update());
  for (int i = 0; i < 2; ++i) {
    report(buckets, 0, kRanges);
    const StepTimes times = buckets.finish_step();
    std::map<int, int64_t> reduce_end;
    std::set<int> updated;
    double communication = 0;
    for (const OperationTime& event : buckets.times()) {
      EXPECT_LE(event.begin_ns, event.end_ns);
      if (event.lane == Lane::kCollectives) {
        EXPECT_TRUE(reduce_end.emplace(event.object, event.end_ns).second);
        communication += 1e-9 * static_cast<double>(event.end_ns - event.begin_ns);
      }
      if (event.kind == Operation::Kind::kUpdate) {
        EXPECT_TRUE(updated.insert(event.object).second);
        EXPECT_GE(event.begin_ns, reduce_end.at(event.object));
      }
    }
    EXPECT_EQ(updated.size(), buckets.buckets().size());
    EXPECT_EQ(reduce_end.size(),
              updated.size() + (GetParam() == ClipMode::kAfterAllReduce ? 1 : 0));
    EXPECT_NEAR(times.communication_seconds, communication, 1e-9);
    EXPECT_LE(times.exposed_communication_seconds, times.communication_seconds + 1e-9);
    EXPECT_LE(times.exposed_communication_seconds, times.wait_seconds + 1e-9);
  }
}

TEST_P(GradientBucketsInEveryMode, AnErrorInTheUpdateReachesFinishStep) {
  BucketStep step;
  MirrorCommunicator world;
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          [](const ReducedGradients& reduced) {
                            if (reduced.range.begin > 0) fail("weights are gone");
                          });
  report(buckets, 0, kRanges);
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      buckets.finish_step();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "weights are gone");
    }
  }
}

TEST(GradientBuckets, AnErrorInTheAllReduceReachesFinishStep) {
  BucketStep step;
  MirrorCommunicator world([](int64_t) { fail("link down"); });
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries,
                          options(ClipMode::kNone), step.update());
  report(buckets, 0, kRanges);
  EXPECT_THROW(buckets.finish_step(), Error);
}

TEST_P(GradientBucketsInEveryMode, StopCleanlyAtAnyPoint) {
  BucketStep step;
  MirrorCommunicator world;
  for (int trial = 0; trial < 100; ++trial) {
    GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                            step.update());
    const size_t reported = static_cast<size_t>(trial) % (kRanges + 1);
    report(buckets, 0, reported);
    if (trial % 2 && reported == kRanges) buckets.finish_step();
  }
  // Stopped threads must leave nothing that affects a later step.
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          step.update());
  step.set(gradient_of(0, 1));
  std::ranges::fill(step.applied, 0.0);
  report(buckets, 0, kRanges);
  buckets.finish_step();
  EXPECT_TRUE(std::ranges::any_of(step.applied, [](double value) { return value != 0; }));
}

TEST(GradientBuckets, RangesMayBeReportedInAnyOrderAndAnyPieces) {
  BucketStep step;
  MirrorCommunicator world;
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries,
                          options(ClipMode::kNone), step.update());
  step.set(gradient_of(0, 1));
  buckets.mark_ready(1500, kGradients);
  buckets.mark_ready(3, 1500);
  buckets.mark_ready(0, 3);
  buckets.finish_step();
  const auto expected = gradient_of(0, 1);
  for (int64_t i = 0; i < kGradients; ++i) ASSERT_EQ(step.applied[i], expected[i]);
}

// A norm over all buckets does not depend on the order in which they become ready.
TEST_P(GradientBucketsInEveryMode, BucketsMayBeReadyInAnyOrder) {
  BucketStep step;
  MirrorCommunicator world;
  GradientBuckets buckets(step.backend, world, step.gradients(), kBoundaries, options(GetParam()),
                          step.update());
  std::vector<double> in_order;
  for (const bool reversed : {false, true}) {
    for (int trial = 0; trial < 20; ++trial) {
      step.set(gradient_of(0, 1));
      std::ranges::fill(step.applied, 0.0);
      for (size_t i = 0; i < kRanges; ++i) {
        const size_t range = reversed ? kRanges - 1 - i : i;
        report(buckets, range, range + 1);
        if (reversed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      buckets.finish_step();
      if (in_order.empty()) in_order = step.applied;
      ASSERT_EQ(step.applied, in_order);
    }
  }
}

TEST(GradientBuckets, WrongReportsAreRefused) {
  BucketStep step;
  const auto world = make_single_communicator();
  GradientBuckets buckets(step.backend, *world, step.gradients(), kBoundaries,
                          options(ClipMode::kNone), step.update());
  EXPECT_THROW(buckets.mark_ready(-1, 5), Error);
  EXPECT_THROW(buckets.mark_ready(5, 4), Error);
  EXPECT_THROW(buckets.mark_ready(0, kGradients + 1), Error);
  buckets.mark_ready(0, 100);
  EXPECT_THROW(buckets.mark_ready(0, 350), Error);
  try {
    buckets.finish_step();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("were not marked ready"));
  }
}

// The third of three ranges uses the memory of the first.
TEST(GradientBuckets, MemoryMayBeWrittenAgainAfterItsReduction) {
  const std::vector<int64_t> boundaries = {0, 64, 128, 192};
  for (const bool memory_is_host : {true, false}) {
    BucketStep step(DType::kF32, memory_is_host);
    MirrorCommunicator world;
    const device::Arena shared({step.memory.data(), DType::kF32, 1, 128}, 192,
                               {{{0, 64}, 0}, {{64, 128}, 64}, {{128, 192}, 0}});
    GradientBuckets buckets(step.backend, world, shared, boundaries,
                            {.clip = ClipMode::kNone, .bucket_bytes = 256}, step.update());
    EXPECT_THROW(buckets.begin_writing(128, 192), Error) << "the first is not ready";
    buckets.mark_ready(0, 64);
    EXPECT_NO_THROW(buckets.begin_writing(128, 192)) << "the second lies elsewhere";
  }
}

TEST(GradientBuckets, WrongOptionsAreRefused) {
  BucketStep step;
  const auto world = make_single_communicator();
  const auto make = [&](const BucketOptions& wrong, const std::vector<int64_t>& boundaries) {
    GradientBuckets(step.backend, *world, step.gradients(), boundaries, wrong, step.update());
  };
  EXPECT_THROW(make(options(ClipMode::kNone), {0, 100}), Error);
  BucketOptions wrong = options(ClipMode::kAfterAllReduce);
  wrong.max_norm = 0;
  EXPECT_THROW(make(wrong, kBoundaries), Error);
  BucketOptions too_few_weights = options(ClipMode::kNone);
  too_few_weights.gathered_weights = {step.memory.data(), DType::kF32, 1, kGradients - 1};
  EXPECT_THROW(make(too_few_weights, kBoundaries), Error);
  BucketOptions clipped_early = options(ClipMode::kBeforeAllReduce);
  clipped_early.gradient_shards = step.gradients();
  EXPECT_THROW(make(clipped_early, kBoundaries), Error);
  BucketOptions rounds_without_sums = options(ClipMode::kNone);
  rounds_without_sums.rounds = 2;
  EXPECT_THROW(make(rounds_without_sums, kBoundaries), Error);
}

}  // namespace
}  // namespace strata::comm

#include "data/loading/batch_loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "tests/data/data_test_support.h"
#include "tests/data/instance_samples.h"

namespace strata::data {
namespace {

class Loader : public testing::Test {
 protected:
  Loader() {
    write_instances(directory_ / "x.hdf5", sample_instances(kSamples),
                    sample_info(InstanceForm::kPacked));
    source_ = open_instances(directory_ / "x.hdf5");
  }
  // Returns samples 0, 1, 2, ... in batches of `batch`, up to `end`.
  NextSamples count_up(uint32_t batch, uint32_t end) {
    return [this, batch, end, next = uint32_t{0}](std::vector<uint32_t>& samples) mutable {
      ++asked_;
      if (next >= end) return false;
      for (uint32_t i = 0; i < batch && next < end; ++i) samples.push_back(next++);
      return true;
    };
  }

  static constexpr uint32_t kSamples = 100;
  TemporaryDirectory directory_;
  std::unique_ptr<InstanceSource> source_;
  std::atomic<int> asked_ = 0;
};

TEST_F(Loader, GivesTheBatchesOfTheSourceInOrder) {
  BatchLoader loader(*source_, count_up(8, kSamples), 3);
  loader.start();
  loader.start();
  PackedBatch batch, expected;
  uint32_t seen = 0;
  while (loader.next(batch)) {
    std::vector<uint32_t> samples;
    for (size_t i = 0; i < batch.sample_ids.size(); ++i) samples.push_back(seen++);
    source_->read(samples, expected);
    EXPECT_EQ(batch.tokens, expected.tokens);
    EXPECT_EQ(batch.masked_positions, expected.masked_positions);
    EXPECT_EQ(batch.cu_seqlens, expected.cu_seqlens);
    EXPECT_EQ(batch.sample_ids, expected.sample_ids);
  }
  EXPECT_EQ(seen, kSamples);
  EXPECT_FALSE(loader.next(batch));  // and stays at the end
}

TEST_F(Loader, ReadsNothingBeforeItIsStarted) {
  BatchLoader loader(*source_, count_up(8, kSamples));
  PackedBatch batch;
  EXPECT_TRUE(contains(error_of([&] { loader.next(batch); }), "before it was started"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(Loader, ReadsAheadNoFurtherThanItsDepth) {
  BatchLoader loader(*source_, count_up(1, kSamples), 2);
  loader.start();
  PackedBatch batch;
  for (int taken = 1; taken <= 20; ++taken) {
    ASSERT_TRUE(loader.next(batch));
    EXPECT_LE(asked_, taken + 2 + 1);  // two wait, and one may be in progress
  }
}

TEST_F(Loader, AnErrorReachesTheConsumerAfterTheBatchesBeforeIt) {
  int calls = 0;
  BatchLoader loader(*source_, [&](std::vector<uint32_t>& samples) {
    samples.push_back(++calls < 4 ? 1 : kSamples);
    return true;
  });
  loader.start();
  PackedBatch batch;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loader.next(batch));
  const std::string message = error_of([&] { loader.next(batch); });
  EXPECT_TRUE(contains(message, "there is no sample 100")) << message;
  EXPECT_THROW(loader.next(batch), Error);
}

TEST_F(Loader, StopsAtAnyTime) {
  for (uint32_t taken = 0; taken < 12; ++taken) {
    BatchLoader loader(*source_, count_up(1, taken % 2 ? kSamples : UINT32_MAX), 1 + taken % 3);
    if (taken % 4 != 0) loader.start();
    PackedBatch batch;
    for (uint32_t i = 0; i < taken && taken % 4 != 0; ++i) EXPECT_TRUE(loader.next(batch));
  }
}

TEST_F(Loader, TwoLoadersShareASource) {
  BatchLoader first(*source_, count_up(3, kSamples)), second(*source_, count_up(5, kSamples));
  first.start();
  second.start();
  PackedBatch batch;
  size_t samples = 0;
  while (first.next(batch)) samples += batch.sample_ids.size();
  while (second.next(batch)) samples += batch.sample_ids.size();
  EXPECT_EQ(samples, 2 * kSamples);
}

TEST_F(Loader, ADepthOfZeroIsRefused) {
  EXPECT_THROW(BatchLoader(*source_, count_up(1, 1), 0), Error);
}

}  // namespace
}  // namespace strata::data

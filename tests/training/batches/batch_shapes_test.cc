#include "training/batches/batch_shapes.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "bert/batches/device_batch.h"
#include "tests/training/small_training.h"

namespace strata::training {
namespace {

constexpr int kSamples = 48;

class BatchShapesTest : public testing::Test {
 protected:
  // Returns the shape of a batch on a device.
  bert::BatchShape shape_of(std::span<const uint32_t> samples) const {
    data::PackedBatch batch;
    source_->read(samples, batch);
    return uploaded(batch);
  }
  // Returns the shape of synthetic samples with these shapes.
  bert::BatchShape shape_of(const std::vector<SampleShape>& samples) const {
    return uploaded(synthetic_batch(small_bert(), samples));
  }
  std::vector<SampleShape> shapes_of(std::span<const uint32_t> samples) const {
    std::vector<SampleShape> shapes;
    for (const uint32_t sample : samples) {
      shapes.push_back({source_->lengths()[sample], source_->masked_counts()[sample]});
    }
    return shapes;
  }
  bert::BatchShape uploaded(const data::PackedBatch& batch) const {
    bert::DeviceBatch on_device(*backend_, bert::capacity_of(batch), rounding_);
    on_device.upload(device::Stream::kCopy, batch);
    return on_device.shape();
  }

  bert::BatchRounding rounding_{.tokens = 16, .masked = 4, .max_length = 8};
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
  std::unique_ptr<device::Backend> backend_ = make_backend(small_run());
};

// Batches of 1 to 6 samples, each twice as often as the next.
TEST_F(BatchShapesTest, MatchBatchesOnTheDeviceAndAreSortedByFrequency) {
  BatchShapes shapes(rounding_);
  std::map<bert::BatchShape, int> times;
  for (uint32_t count = 1; count <= 6; ++count) {
    for (int repeat = 0; repeat < 64 >> count; ++repeat) {
      std::vector<uint32_t> samples;
      for (uint32_t i = 0; i < count; ++i) samples.push_back((7 * i + count) % kSamples);
      shapes.add(shapes_of(samples));
      ++times[shape_of(samples)];
    }
  }
  const auto found = shapes.most_frequent();
  ASSERT_EQ(found.size(), 6u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].size(), i + 1);
    EXPECT_EQ(times[shape_of(found[i])], 64 >> (i + 1));
  }
}

TEST_F(BatchShapesTest, CoverAllNumbersOfRows) {
  constexpr int64_t kRows = 32;
  BatchShapes shapes(rounding_);
  std::set<int64_t> numbers, tokens, masked;
  const auto multiple = [](int64_t rows) { return (rows + kRows - 1) / kRows; };
  for (uint32_t i = 0; i < 500; ++i) {
    std::vector<uint32_t> samples;
    for (uint32_t k = 0; k <= i % 9; ++k) samples.push_back((i * 11 + k * k) % kSamples);
    shapes.add(shapes_of(samples));
    const bert::BatchShape shape = shape_of(samples);
    numbers.insert(shape.samples);
    tokens.insert(multiple(shape.tokens));
    masked.insert(multiple(shape.masked));
  }
  std::set<int64_t> covered_numbers, covered_tokens, covered_masked;
  const auto covering = shapes.covering(kRows);
  for (const auto& samples : covering) {
    const bert::BatchShape shape = shape_of(samples);
    covered_numbers.insert(shape.samples);
    covered_tokens.insert(multiple(shape.tokens));
    covered_masked.insert(multiple(shape.masked));
  }
  EXPECT_EQ(covered_numbers, numbers);
  EXPECT_EQ(covered_tokens, tokens);
  EXPECT_EQ(covered_masked, masked);
  EXPECT_LE(covering.size(), numbers.size() + tokens.size() + masked.size());
}

// Samples of one length, with 1 to 8 masked tokens.
TEST_F(BatchShapesTest, CoverNumbersOfMaskedPositionsForEqualTokens) {
  BatchShapes shapes({});
  for (int32_t masked = 1; masked <= 8; ++masked) shapes.add(std::array{SampleShape{16, masked}});
  EXPECT_EQ(shapes.covering(4).size(), 2u);
  EXPECT_EQ(shapes.covering(8).size(), 1u);
  EXPECT_EQ(shapes.covering(1).size(), 8u);
  EXPECT_EQ(shapes.most_frequent().size(), 8u);
}

TEST_F(BatchShapesTest, ASyntheticBatchHasTheSameShapeAndOtherTokens) {
  const std::vector<uint32_t> samples{3, 17, 40, 8};
  data::PackedBatch real;
  source_->read(samples, real);
  const data::PackedBatch made_up = synthetic_batch(small_bert(), shapes_of(samples));
  EXPECT_EQ(uploaded(made_up), uploaded(real));
  EXPECT_EQ(made_up.cu_seqlens, real.cu_seqlens);
  EXPECT_NE(made_up.tokens, real.tokens);
}

}  // namespace
}  // namespace strata::training

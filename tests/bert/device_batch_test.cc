#include "bert/batches/device_batch.h"

#include "device/registry/backends.h"
#include "tests/bert/errors.h"

namespace strata::bert {
namespace {

data::PackedBatch two_samples() {
  data::PackedBatch batch;
  batch.tokens = {2, 5, 6, 3, 2, 7, 3};
  batch.segments = {0, 0, 1, 1, 0, 1, 1};
  batch.positions = {0, 1, 2, 3, 0, 1, 2};
  batch.cu_seqlens = {0, 4, 7};
  batch.masked_positions = {1, 5};
  batch.masked_ids = {9, 8};
  batch.next_sentence = {1, 0};
  batch.sample_ids = {17, uint64_t{1} << 40};
  return batch;
}

class DeviceBatchTest : public testing::Test {
 protected:
  template <typename T>
  std::vector<T> download(const T* from, int64_t count) {
    std::vector<T> values(static_cast<size_t>(count));
    backend_->copy_to_host(device::Stream::kCompute, values.data(), from,
                           values.size() * sizeof(T));
    backend_->synchronize(device::Stream::kCompute);
    return values;
  }

  std::unique_ptr<device::Backend> backend_ =
      device::make_backend({"reference", device::DType::kF64});
};

TEST_F(DeviceBatchTest, HoldsWhatWasUploaded) {
  DeviceBatch on_device(*backend_, {.tokens = 10, .sequences = 3, .masked = 4});
  const data::PackedBatch batch = two_samples();
  on_device.upload(device::Stream::kCompute, batch);
  EXPECT_EQ(on_device.sequences.count, 2);
  EXPECT_EQ(on_device.sequences.tokens, 7);
  EXPECT_EQ(on_device.sequences.max_length, 4);
  EXPECT_EQ(on_device.masked, 2);
  EXPECT_EQ(download(on_device.tokens, 7), batch.tokens);
  EXPECT_EQ(download(on_device.segments, 7), batch.segments);
  EXPECT_EQ(download(on_device.positions, 7), batch.positions);
  EXPECT_EQ(download(on_device.masked_positions, 2), batch.masked_positions);
  EXPECT_EQ(download(on_device.masked_ids, 2), batch.masked_ids);
  EXPECT_EQ(download(on_device.next_sentence, 2), batch.next_sentence);
  EXPECT_EQ(download(on_device.sequences.cu_seqlens, 3), batch.cu_seqlens);
  EXPECT_EQ(download(on_device.sequences.sample_ids, 2), batch.sample_ids);
}

TEST_F(DeviceBatchTest, TakesASmallerBatchAfterALargerOne) {
  DeviceBatch on_device(*backend_, {.tokens = 7, .sequences = 2, .masked = 2});
  on_device.upload(device::Stream::kCompute, two_samples());
  data::PackedBatch one;
  one.tokens = one.segments = one.positions = {0};
  one.cu_seqlens = {0, 1};
  one.next_sentence = {0};
  one.sample_ids = {3};
  on_device.upload(device::Stream::kCompute, one);
  EXPECT_EQ(on_device.sequences.count, 1);
  EXPECT_EQ(on_device.sequences.max_length, 1);
  EXPECT_EQ(on_device.masked, 0);
}

TEST_F(DeviceBatchTest, PaddingIsOneSequenceAndItsMaskedPositionsCountForNothing) {
  DeviceBatch on_device(*backend_, {.tokens = 10, .sequences = 3, .masked = 4},
                        {.tokens = 8, .masked = 4, .max_length = 32});
  using Numbers = std::vector<int32_t>;
  // Repeats it after a fuller batch.
  data::PackedBatch fuller = two_samples();
  fuller.tokens.resize(10, 9);
  fuller.segments.resize(10, 1);
  fuller.positions.resize(10, 5);
  fuller.cu_seqlens = {0, 4, 10};
  on_device.upload(device::Stream::kCompute, fuller);
  EXPECT_EQ(on_device.sequences.tokens, 16);
  EXPECT_EQ(on_device.sequences.max_length, 32);
  on_device.upload(device::Stream::kCompute, two_samples());
  EXPECT_EQ(on_device.samples, 2);
  EXPECT_EQ(on_device.sequences.count, 3);
  EXPECT_EQ(on_device.sequences.tokens, 8);
  EXPECT_EQ(on_device.sequences.max_length, 32);
  EXPECT_EQ(on_device.masked, 4);
  EXPECT_EQ(download(on_device.tokens, 8), (Numbers{2, 5, 6, 3, 2, 7, 3, 0}));
  EXPECT_EQ(download(on_device.segments, 8), (Numbers{0, 0, 1, 1, 0, 1, 1, 0}));
  EXPECT_EQ(download(on_device.positions, 8), (Numbers{0, 1, 2, 3, 0, 1, 2, 0}));
  EXPECT_EQ(download(on_device.sequences.cu_seqlens, 4), (Numbers{0, 4, 7, 8}));
  EXPECT_EQ(download(on_device.masked_positions, 4), (Numbers{1, 5, -1, -1}));
  EXPECT_EQ(download(on_device.masked_ids, 4), (Numbers{9, 8, -1, -1}));
}

TEST_F(DeviceBatchTest, ABatchThatIsFullHasAnEmptySequenceOfPadding) {
  DeviceBatch on_device(*backend_, {.tokens = 7, .sequences = 2, .masked = 2},
                        {.tokens = 7, .masked = 2});
  on_device.upload(device::Stream::kCompute, two_samples());
  EXPECT_EQ(on_device.sequences.count, 3);
  EXPECT_EQ(on_device.sequences.max_length, 4);
  EXPECT_EQ(download(on_device.sequences.cu_seqlens, 4), (std::vector<int32_t>{0, 4, 7, 7}));
}

TEST_F(DeviceBatchTest, RefusesBatchesBeyondItsCapacity) {
  const auto upload = [&](const BatchCapacity& capacity) {
    DeviceBatch(*backend_, capacity).upload(device::Stream::kCompute, two_samples());
  };
  expect_error([&] { upload({6, 2, 2}); }, {"7 tokens", "6"});
  expect_error([&] { upload({7, 1, 2}); }, {"2 sequences", "1"});
  expect_error([&] { upload({7, 2, 1}); }, {"2 masked positions", "1"});
  EXPECT_NO_THROW(upload({7, 2, 2}));
}

}  // namespace
}  // namespace strata::bert

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/timing.h"
#include "device/memory/buffer.h"
#include "tests/conformance/backends.h"
#include "tests/conformance/bench.h"

// Makes an impossible allocation fail under the address sanitizer as it does without.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace strata::device {
namespace {

class Memory : public Conformance {};

std::vector<uint8_t> download(Backend& backend, const void* device, size_t bytes) {
  std::vector<uint8_t> host(bytes, 0xff);
  backend.copy_to_host(Stream::kCompute, host.data(), device, bytes);
  backend.synchronize(Stream::kCompute);
  return host;
}

TEST_P(Memory, IsAlignedAndZeroedAlsoWhenUsedBefore) {
  for (int round = 0; round < 3; ++round) {
    for (const size_t bytes : {size_t{1}, size_t{64}, size_t{1000}, size_t{1} << 20}) {
      Buffer buffer(backend(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u) << bytes;
      EXPECT_EQ(download(backend(), buffer.data(), bytes), std::vector<uint8_t>(bytes, 0));
      const std::vector<uint8_t> dirt(bytes, 0x5a);
      backend().copy_to_device(Stream::kCompute, buffer.data(), dirt.data(), bytes);
      backend().synchronize(Stream::kCompute);
    }
  }
}

TEST_P(Memory, CopiesRoundTripAndFillZeroStaysInItsRange) {
  std::vector<uint8_t> host(10007);
  std::iota(host.begin(), host.end(), 1);
  Buffer buffer(backend(), host.size());
  backend().copy_to_device(Stream::kCompute, buffer.data(), host.data(), host.size());
  backend().fill_zero(Stream::kCompute, buffer.as<uint8_t>() + 64, 100);
  std::fill_n(host.begin() + 64, 100, 0);
  EXPECT_EQ(download(backend(), buffer.data(), host.size()), host);
}

TEST_P(Memory, HostMemoryForCopiesIsAlignedAndRoundTrips) {
  HostBuffer sent(backend(), 4096 * sizeof(int32_t)), received(backend(), 4096 * sizeof(int32_t));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(sent.as<char>()) % 64, 0u);
  Buffer buffer(backend(), 4096 * sizeof(int32_t));
  for (int32_t round = 0; round < 10; ++round) {
    std::iota(sent.as<int32_t>(), sent.as<int32_t>() + 4096, round);
    backend().copy_to_device(Stream::kCopy, buffer.data(), sent.as<char>(), buffer.bytes());
    backend().wait(Stream::kCompute, backend().record(Stream::kCopy));
    backend().copy_to_host(Stream::kCompute, received.as<char>(), buffer.data(), buffer.bytes());
    backend().synchronize(Stream::kCompute);
    ASSERT_TRUE(std::equal(sent.as<int32_t>(), sent.as<int32_t>() + 4096, received.as<int32_t>()));
  }
}

// Gradient buckets and system descriptions rely on memory_is_host() and accelerator().
TEST_P(Memory, BelongsToTheHostOrAnAccelerator) {
  const std::optional<Accelerator> accelerator = backend().accelerator();
  EXPECT_EQ(accelerator.has_value(), !backend().memory_is_host());
  if (accelerator) {
    EXPECT_FALSE(accelerator->name.empty());
    EXPECT_GT(accelerator->memory_bytes, 0);
    return;
  }
  Buffer buffer(backend(), 64);
  const std::vector<uint8_t> sent(64, 0x5a);
  backend().copy_to_device(Stream::kCompute, buffer.data(), sent.data(), sent.size());
  backend().synchronize(Stream::kCompute);
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), buffer.as<uint8_t>()));
}

TEST_P(Memory, StoredValuesMayBeChangedAtOnce) {
  constexpr int kRounds = 200;
  Buffer buffer(backend(), kRounds * Backend::kMostStored);
  std::vector<uint8_t> expected;
  for (int round = 0; round < kRounds; ++round) {
    std::array<uint8_t, Backend::kMostStored> values;
    std::iota(values.begin(), values.end(), static_cast<uint8_t>(round));
    backend().store(Stream::kCompute, buffer.as<uint8_t>() + expected.size(), values.data(),
                    values.size());
    expected.insert(expected.end(), values.begin(), values.end());
  }
  EXPECT_EQ(download(backend(), buffer.data(), expected.size()), expected);
  const uint8_t one = 0;
  backend().store(Stream::kCompute, buffer.as<uint8_t>() + 7, &one, 1);
  backend().store(Stream::kCompute, buffer.data(), nullptr, 0);
  expected[7] = 0;
  EXPECT_EQ(download(backend(), buffer.data(), expected.size()), expected);
}

TEST_P(Memory, CopyingNothingIsAllowed) {
  Buffer buffer(backend(), 64);
  const std::vector<uint8_t> before(64, 7);
  backend().copy_to_device(Stream::kCompute, buffer.data(), before.data(), before.size());
  backend().copy_to_device(Stream::kCompute, buffer.data(), nullptr, 0);
  backend().copy_to_host(Stream::kCompute, nullptr, buffer.data(), 0);
  backend().fill_zero(Stream::kCompute, buffer.data(), 0);
  EXPECT_EQ(download(backend(), buffer.data(), before.size()), before) << "nothing changed";
}

TEST_P(Memory, AnImpossibleAllocationIsAnError) {
  EXPECT_THROW(backend().allocate(size_t{1} << 60), Error);
}

// An operation that waits for a copy on another stream sees its data.
TEST_P(Memory, EventsOrderStreams) {
  constexpr int64_t kSize = 1 << 16;
  Buffer x(backend(), kSize * sizeof(float)), y(backend(), kSize * sizeof(float));
  for (int round = 1; round <= 20; ++round) {
    const std::vector<float> sent(kSize, static_cast<float>(round));
    std::vector<float> received(kSize);
    backend().copy_to_device(Stream::kCopy, x.data(), sent.data(), x.bytes());
    backend().wait(Stream::kReduce, backend().record(Stream::kCopy));
    backend().convert(Stream::kReduce, {ConstTensor(x.data(), DType::kF32, 1, kSize), 2.0f,
                                        Tensor{y.data(), DType::kF32, 1, kSize}});
    backend().wait(Stream::kCopy, backend().record(Stream::kReduce));
    backend().copy_to_host(Stream::kCopy, received.data(), y.data(), y.bytes());
    backend().synchronize(Stream::kCopy);
    EXPECT_EQ(received, std::vector<float>(kSize, 2.0f * round));
  }
}

TEST_P(Memory, EventZeroHasPassed) {
  Buffer buffer(backend(), 64);
  const std::vector<uint8_t> sent(64, 7);
  backend().wait(Stream::kCompute, 0);
  backend().copy_to_device(Stream::kCompute, buffer.data(), sent.data(), sent.size());
  EXPECT_EQ(download(backend(), buffer.data(), sent.size()), sent) << "work goes on after it";
}

// Marks must be on the host's clock, whatever the device's.
TEST_P(Memory, MarksHaveTheTimeAtWhichTheStreamReachesThem) {
  constexpr int64_t kSize = 1 << 20, kTolerance = 1'000'000;
  Buffer x(backend(), kSize * sizeof(float));
  const Tensor all{x.data(), DType::kF32, 1, kSize};
  const auto stopwatch = backend().make_stopwatch();
  for (int round = 0; round < 2; ++round) {
    backend().synchronize(Stream::kCompute);
    const int64_t before = nanoseconds(Clock::now());
    EXPECT_EQ(stopwatch->mark(Stream::kCompute), 0u);
    backend().convert(Stream::kCompute, {all, 2.0f, all});
    EXPECT_EQ(stopwatch->mark(Stream::kCompute), 1u);
    backend().wait(Stream::kReduce, backend().record(Stream::kCompute));
    backend().convert(Stream::kReduce, {all, 0.5f, all});
    EXPECT_EQ(stopwatch->mark(Stream::kReduce), 2u);
    const std::vector<int64_t> times = stopwatch->read();
    const int64_t after = nanoseconds(Clock::now());
    ASSERT_EQ(times.size(), 3u);
    EXPECT_GT(times[0], before - kTolerance);
    EXPECT_LT(times[0], times[1]);
    EXPECT_LT(times[1], times[2]);
    EXPECT_LE(times[2], after);
  }
  EXPECT_TRUE(stopwatch->read().empty());
}

INSTANTIATE_TEST_SUITE_P(Backends, Memory, testing::ValuesIn(tested_backends()), name_of_backend);

}  // namespace
}  // namespace strata::device

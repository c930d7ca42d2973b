#include "device/graph_cache.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/memory/buffer.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/host_backend.h"

namespace strata::device {
namespace {

class GraphCacheTest : public testing::Test {
 protected:
  // Adds the number in memory to a sum, on the reduce stream.
  void issue() {
    ++issued_;
    backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute));
    backend_.enqueue(Stream::kReduce, [this] { sum_ += *memory_.as<int>(); });
    backend_.wait(Stream::kCompute, backend_.record(Stream::kReduce));
  }
  void run(GraphCache& graphs, int key, int value) {
    backend_.store(Stream::kCompute, memory_.data(), &value, sizeof value);
    graphs.run({key, 7}, [this] { issue(); });
  }

  testing_support::HostBackend host_;
  testing_support::DeferredBackend backend_{host_, 1};
  Buffer memory_{backend_, sizeof(int)};
  int sum_ = 0, issued_ = 0;
};

TEST_F(GraphCacheTest, WorkIsIssuedTwiceThenReplayedOnTheCurrentMemory) {
  GraphCache graphs(backend_);
  for (int i = 1; i <= 5; ++i) run(graphs, 3, i);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 1 + 2 + 3 + 4 + 5);
  EXPECT_EQ(issued_, 2);
  EXPECT_EQ(graphs.launched(), 3);
}

TEST_F(GraphCacheTest, EveryKeyHasItsOwnGraph) {
  GraphCache graphs(backend_);
  for (int i = 0; i < 4; ++i) {
    run(graphs, 1, 1);
    run(graphs, 2, 100);
  }
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 4 + 400);
  EXPECT_EQ(issued_, 4);
}

TEST_F(GraphCacheTest, NoMoreKeysAreKeptThanAllowed) {
  GraphCache graphs(backend_, 2);
  for (int i = 0; i < 3; ++i) {
    for (int key = 0; key < 4; ++key) run(graphs, key, 1);
  }
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 12);
  EXPECT_EQ(graphs.launched(), 2);
  EXPECT_EQ(issued_, 10);
}

TEST_F(GraphCacheTest, WorkMayBeCapturedBeforeItRuns) {
  GraphCache graphs(backend_, 2);
  const auto capture = [&](int key) { return graphs.capture({key, 7}, [this] { issue(); }); };
  EXPECT_TRUE(capture(1));
  EXPECT_TRUE(capture(1)) << "it is there";
  run(graphs, 2, 5);
  EXPECT_TRUE(capture(2)) << "it has run, and is known";
  EXPECT_FALSE(capture(3)) << "a third key";
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 5) << "what is captured does not run";
  EXPECT_EQ(issued_, 3);
  run(graphs, 1, 30);
  run(graphs, 2, 400);
  run(graphs, 1, 1000);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 1435);
  EXPECT_EQ(issued_, 3);
  EXPECT_EQ(graphs.launched(), 3);
}

TEST_F(GraphCacheTest, FailedWorkIsNotKept) {
  GraphCache graphs(backend_);
  run(graphs, 3, 1);
  EXPECT_THROW(graphs.run({3, 7}, [] { fail("no further"); }), Error);
  run(graphs, 3, 2);
  run(graphs, 3, 3);
  backend_.synchronize(Stream::kCompute);
  EXPECT_EQ(sum_, 6);
}

// This device also refuses what CUDA refuses to capture, so tests that launch graphs would fail.
TEST_F(GraphCacheTest, WorkThatCannotBePartOfAGraphIsRefused) {
  const auto error_of = [&](const std::function<void()>& issue) -> std::string {
    try {
      backend_.capture(issue);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Event before = backend_.record(Stream::kReduce);
  const auto fork = [&] { backend_.wait(Stream::kReduce, backend_.record(Stream::kCompute)); };
  const auto work = [this](Stream stream) { backend_.enqueue(stream, [] {}); };
  EXPECT_EQ(error_of([&] { backend_.wait(Stream::kCompute, before); }),
            "captured work waits for a point from before");
  EXPECT_EQ(error_of([&] { backend_.synchronize(Stream::kCompute); }),
            "the host waits for work that is only captured");
  EXPECT_EQ(error_of([&] { work(Stream::kReduce); }),
            "a stream that waits for no captured work is given some");
  EXPECT_EQ(error_of([&] {
              fork();
              work(Stream::kReduce);
            }),
            "captured work of a stream is never waited for");
  Event captured = 0;
  EXPECT_EQ(error_of([&] {
              fork();
              work(Stream::kReduce);
              captured = backend_.record(Stream::kReduce);
              backend_.wait(Stream::kCompute, captured);
            }),
            "");
  EXPECT_THROW(backend_.wait(Stream::kCopy, captured), Error);
}

// A device with little memory for graphs, which take 10 bytes each.
class SmallDevice : public testing_support::DeferredBackend {
 public:
  SmallDevice(Backend& inner, int64_t free, int64_t total = 1600)
      : DeferredBackend(inner, 1), memory_{free, total} {}
  std::optional<Memory> device_memory() override { return memory_; }
  std::unique_ptr<CapturedGraph> capture(const std::function<void()>& issue) override {
    auto graph = DeferredBackend::capture(issue);
    if (memory_.free < kGraph) throw OutOfDeviceMemory("no room for a graph");
    memory_.free -= kGraph;
    return graph;
  }

 private:
  static constexpr int64_t kGraph = 10;
  Memory memory_;
};

// Runs each of four keys three times, each adding 1; uncaptured work is issued.
int sum_of_four_keys(SmallDevice& device, GraphCache& graphs) {
  int sum = 0;
  for (int i = 0; i < 12; ++i) {
    graphs.run({i % 4}, [&] { device.enqueue(Stream::kCompute, [&sum] { ++sum; }); });
  }
  device.synchronize(Stream::kCompute);
  return sum;
}

TEST_F(GraphCacheTest, CapturingStopsBeforeASixteenthOfMemoryIsLeft) {
  SmallDevice device(host_, 119);
  GraphCache graphs(device);
  EXPECT_EQ(sum_of_four_keys(device, graphs), 12);
  EXPECT_EQ(graphs.captured().graphs, 2);
  EXPECT_EQ(graphs.captured().bytes, 20);
  EXPECT_EQ(graphs.captured().free_at_stop, 99);
  EXPECT_FALSE(graphs.capture({9}, [] {}));
}

TEST_F(GraphCacheTest, ALargeDeviceReservesTwoGigabytes) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  SmallDevice device(host_, 2 * kGiB + 15, 80 * kGiB);
  GraphCache graphs(device);
  EXPECT_EQ(sum_of_four_keys(device, graphs), 12);
  EXPECT_EQ(graphs.captured().graphs, 2);
}

TEST_F(GraphCacheTest, WorkIsIssuedIfItsGraphFindsNoMemory) {
  SmallDevice device(host_, 25, 160);
  GraphCache graphs(device);
  EXPECT_EQ(sum_of_four_keys(device, graphs), 12);
  EXPECT_EQ(graphs.captured().graphs, 2);
  EXPECT_EQ(graphs.captured().free_at_stop, 5);
}

TEST_F(GraphCacheTest, ADeviceThatDoesNotReportItsMemoryHasNoLimit) {
  GraphCache graphs(backend_);
  for (int i = 1; i <= 3; ++i) run(graphs, 3, i);
  EXPECT_EQ(graphs.captured().graphs, 1);
  EXPECT_EQ(graphs.captured().bytes, 0);
  EXPECT_EQ(graphs.captured().free_at_stop, std::nullopt);
}

TEST_F(GraphCacheTest, ADeviceThatCannotCaptureIsAnError) {
  GraphCache graphs(host_);
  graphs.run({1}, [] {});
  EXPECT_THROW(graphs.run({1}, [] {}), Error);
}

}  // namespace
}  // namespace strata::device

// Tests that every call in which the host may wait for a GPU is watched, because an endless NCCL
// collective blocks all later work.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/cuda/cuda_backend.h"
#include "device/memory/buffer.h"

namespace strata::device {
namespace {

class CountingWaits final : public HostWaits {
 public:
  int begin(const char* operation) override {
    operations_.insert(operation);
    return ++open_;
  }
  void end(int) override { --open_; }
  int add_check(std::function<std::string()>) override { return 0; }
  void remove_check(int) override {}
  int open() const { return open_; }
  const std::set<std::string>& operations() const { return operations_; }

 private:
  int open_ = 0;
  std::set<std::string> operations_;
};

class CudaHostWaits : public testing::Test {
 protected:
  // Ranks do not reach NCCL, but the backend has received the waits by then.
  CudaHostWaits() {
    const RankGroup group{.rank = 1,
                          .size = 2,
                          .all_gather = [](void*, size_t) { fail("there is no other rank"); },
                          .waits = waits_};
    EXPECT_THROW(backend_->make_collectives(group, Stream::kReduce), Error);
    emulated_cuda::may_wait = [this](const char* function) {
      called_.insert(function);
      if (waits_->open() == 0) unwatched_.insert(function);
    };
  }
  ~CudaHostWaits() override {
    emulated_cuda::may_wait = [](const char*) {};
  }

  using Names = std::set<std::string>;

  std::shared_ptr<CountingWaits> waits_ = std::make_shared<CountingWaits>();
  std::unique_ptr<Backend> backend_ = cuda::make_cuda_backend(DType::kF32, 0);
  Names called_, unwatched_;
};

TEST_F(CudaHostWaits, MemoryCopiesAndSynchronizationAreWatched) {
  float value = 1;
  {
    const Buffer memory(*backend_, 64);
    const HostBuffer pinned(*backend_, 64);
    backend_->copy_to_device(Stream::kCopy, memory.data(), &value, sizeof value);
    backend_->store(Stream::kCompute, memory.data(), &value, sizeof value);
    backend_->fill_zero(Stream::kCompute, memory.data(), 64);
    backend_->wait(Stream::kCompute, backend_->record(Stream::kCopy));
    backend_->copy_to_host(Stream::kCompute, &value, memory.data(), sizeof value);
    backend_->synchronize(Stream::kCompute);
  }
  EXPECT_EQ(unwatched_, Names());
  for (const char* function : {"cudaMalloc", "cudaFree", "cudaMemcpyAsync", "cudaStreamSynchronize",
                               "cudaEventRecord", "cudaStreamWaitEvent", "cudaMemsetAsync"}) {
    EXPECT_TRUE(called_.contains(function)) << function;
  }
  EXPECT_EQ(waits_->open(), 0);
}

TEST_F(CudaHostWaits, OperationsGraphsAndTheStopwatchAreWatched) {
  {
    const Buffer memory(*backend_, 64);
    const auto add_norm = [&] {
      backend_->l2_norm_squared(Stream::kCompute, {.x = {memory.data(), DType::kF32, 1, 8},
                                                   .norm_squared = memory.as<double>() + 4});
    };
    add_norm();
    const auto stopwatch = backend_->make_stopwatch();
    stopwatch->mark(Stream::kCompute);
    stopwatch->read();
    const auto graph = backend_->capture(add_norm);
    graph->launch();
  }
  EXPECT_EQ(unwatched_, Names());
  backend_.reset();  // waits for all work, then frees memory without further waits
  EXPECT_FALSE(unwatched_.contains("cudaDeviceSynchronize"));
  for (const char* function : {"cudaLaunchKernelEx", "cudaEventSynchronize", "cudaGraphInstantiate",
                               "cudaGraphUpload", "cudaGraphLaunch", "cudaDeviceSynchronize"}) {
    EXPECT_TRUE(called_.contains(function)) << function;
  }
  EXPECT_EQ(waits_->open(), 0);
}

// The message of a stalled job distinguishes them.
TEST_F(CudaHostWaits, WaitsNameTheirOperation) {
  double value = 0;
  const Buffer memory(*backend_, 64);
  backend_->copy_to_host(Stream::kCompute, &value, memory.data(), sizeof value);
  backend_->synchronize(Stream::kCompute);
  EXPECT_EQ(waits_->operations(),
            (Names{"an allocation of GPU memory", "a copy from the GPU", "the GPU's collectives"}));
}

}  // namespace
}  // namespace strata::device

// The real NCCL on a GPU, with the single rank that one GPU allows. A stand-in tests several ranks
// (stream_executor_mpi_test.cc).
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"

namespace strata::comm {
namespace {

using device::BFloat16;
using device::DType;
using device::Stream;

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    try {
      backend_ = device::make_backend({.name = "cuda", .compute_dtype = DType::kBF16});
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
    nccl_ = backend_->make_collectives({0, 1, [](void*, size_t) {}}, Stream::kReduce);
  }

  template <typename T, typename Collective>
  void expect_unchanged(DType dtype, const Collective& collective) {
    constexpr int64_t kCount = 1001;
    std::vector<T> values(kCount);
    for (int64_t i = 0; i < kCount; ++i)
      values[static_cast<size_t>(i)] = static_cast<T>(static_cast<float>(i) - 500);
    const std::vector<T> before = values;
    device::Buffer memory(*backend_, kCount * sizeof(T));
    backend_->copy_to_device(Stream::kReduce, memory.data(), values.data(), memory.bytes());
    backend_->synchronize(Stream::kReduce);
    std::fill(values.begin(), values.end(), T{});
    collective(memory.data(), kCount, dtype);
    backend_->copy_to_host(Stream::kReduce, values.data(), memory.data(), memory.bytes());
    backend_->synchronize(Stream::kReduce);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), before.begin(), [](T a, T b) {
      return static_cast<double>(a) == static_cast<double>(b);
    }));
  }

  template <typename Collective>
  void expect_unchanged_in_every_dtype(const Collective& collective) {
    expect_unchanged<float>(DType::kF32, collective);
    expect_unchanged<double>(DType::kF64, collective);
    expect_unchanged<BFloat16>(DType::kBF16, collective);
  }

  std::unique_ptr<Communicator> single_rank_ = make_single_communicator();
  std::unique_ptr<device::Backend> backend_;
  std::unique_ptr<device::Collectives> nccl_;
};

TEST_F(Nccl, OneRankKeepsItsDataInEveryCollective) {
  expect_unchanged_in_every_dtype([&](void* data, int64_t count, DType dtype) {
    nccl_->all_reduce_sum(data, count, dtype);
    nccl_->reduce_scatter_sum(data, count, dtype);
    nccl_->all_gather(data, count, dtype);
  });
  expect_unchanged<float>(DType::kF32, [&](void* data, int64_t count, DType) {
    nccl_->all_reduce_max(static_cast<float*>(data), count);
  });
}

}  // namespace
}  // namespace strata::comm

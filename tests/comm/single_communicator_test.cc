#include <gtest/gtest.h>

#include <array>

#include "comm/communicator.h"

namespace strata::comm {
namespace {

TEST(SingleCommunicator, LeavesDataAsItIs) {
  const auto communicator = make_single_communicator()->duplicate();
  EXPECT_EQ(communicator->rank(), 0);
  EXPECT_EQ(communicator->size(), 1);
  std::array<float, 2> values = {1.5f, -2.0f};
  std::array<int64_t, 2> integers = {3, 4};
  communicator->all_reduce_sum(values.data(), 2, device::DType::kF32);
  communicator->all_reduce_sum(integers);
  communicator->all_reduce_max(values);
  communicator->broadcast(values.data(), sizeof values, 0);
  communicator->reduce_scatter_sum(values.data(), 2, device::DType::kF32);
  communicator->all_gather(values.data(), 2, device::DType::kF32);
  EXPECT_EQ(shard_of(2, 0, 1), (Range{0, 2}));
  communicator->barrier();
  EXPECT_EQ(values, (std::array<float, 2>{1.5f, -2.0f}));
  EXPECT_EQ(integers, (std::array<int64_t, 2>{3, 4}));
}

}  // namespace
}  // namespace strata::comm

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "comm/communicator.h"
#include "comm/point_to_point.h"
#include "device/buffer.h"
#include "device/registry/backends.h"
#include "tests/support/deferred_backend.h"

namespace strata::comm {
namespace {

// What rank `from` sends as its message number `number`.
std::vector<int> content(int from, int number, size_t size) {
  std::vector<int> values(size);
  std::iota(values.begin(), values.end(), 1000 * from + number);
  return values;
}

// Some go at once, others only when both sides are there.
const std::vector<size_t> kSizes = {1, 1 << 20, 17, 1 << 18, 1 << 20, 3};

// Every rank sends to the next and to the one before, all at once, before any waits.
TEST(Messages, ArriveInOrderWhileAllRanksSend) {
  const auto world = make_mpi_communicator();
  const auto messages = world->make_messages();
  const int rank = world->rank(), ranks = world->size();
  const int peers[] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
  std::vector<std::vector<int>> sent, received;
  std::vector<Messages::Ticket> tickets;
  for (int repeat = 0; repeat < 2; ++repeat) {
    sent.clear(), received.clear(), tickets.clear();
    for (const int peer : peers) {
      for (size_t i = 0; i < kSizes.size(); ++i) {
        sent.push_back(content(rank, static_cast<int>(i), kSizes[i]));
        received.emplace_back(kSizes[i]);
        tickets.push_back(messages->send(sent.back().data(), 4 * kSizes[i], peer));
      }
    }
    size_t next = 0;
    for (const int peer : {peers[1], peers[0]}) {
      for (const size_t size : kSizes) {
        tickets.push_back(messages->receive(received[next++].data(), 4 * size, peer));
      }
    }
    for (const Messages::Ticket ticket : tickets) messages->wait(ticket);
    for (size_t i = 0; i < received.size(); ++i) {
      const int from = i < kSizes.size() ? peers[1] : peers[0];
      const auto number = static_cast<int>(i % kSizes.size());
      EXPECT_EQ(received[i], content(from, number, kSizes[i % kSizes.size()])) << i;
    }
  }
}

// Of host memory, and of a device that lags behind: what is sent is what was written before, and
// what is received is there for what is issued after.
TEST(PointToPoint, IsInTheOrderOfTheComputeStream) {
  const auto world = make_mpi_communicator();
  const int rank = world->rank(), ranks = world->size();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const auto cpu =
      device::make_backend({.name = "cpu", .compute_dtype = device::DType::kF32, .threads = 1});
  testing_support::DeferredBackend late(*cpu, static_cast<uint64_t>(rank));
  constexpr auto kCompute = device::Stream::kCompute;
  for (device::Backend* backend : {cpu.get(), static_cast<device::Backend*>(&late)}) {
    const size_t most = *std::ranges::max_element(kSizes) * sizeof(int);
    const auto point_to_point = make_point_to_point(*world, *backend, most);
    const device::Buffer mine(*backend, most), theirs(*backend, most), copy(*backend, most);
    for (size_t i = 0; i < kSizes.size(); ++i) {
      const auto number = static_cast<int>(i);
      const size_t bytes = kSizes[i] * sizeof(int);
      const std::vector<int> values = content(rank, number, kSizes[i]);
      std::vector<int> found(kSizes[i]);
      backend->copy_to_device(kCompute, mine.data(), values.data(), bytes);
      const auto sent = point_to_point->send(mine.data(), bytes, next);
      const auto received = point_to_point->receive(theirs.data(), bytes, before);
      point_to_point->wait(received);
      backend->copy_to_host(kCompute, found.data(), theirs.data(), bytes);
      point_to_point->wait(sent);
      backend->fill_zero(kCompute, mine.data(), bytes);
      backend->synchronize(kCompute);
      EXPECT_EQ(found, content(before, number, kSizes[i])) << backend->name() << ", " << i;
    }
  }
}

TEST(Split, RanksOfOneColorWorkTogetherInTheirOrder) {
  const auto world = make_mpi_communicator();
  const int rank = world->rank(), ranks = world->size();
  const auto part = world->split(rank % 2);
  EXPECT_EQ(part->rank(), rank / 2);
  EXPECT_EQ(part->size(), (ranks + 1 - rank % 2) / 2);
  int64_t expected = 0, sum[] = {rank};
  for (int other = rank % 2; other < ranks; other += 2) expected += other;
  part->all_reduce_sum(sum);
  EXPECT_EQ(sum[0], expected);
  EXPECT_EQ(make_single_communicator()->split(3)->size(), 1);
}

}  // namespace
}  // namespace strata::comm

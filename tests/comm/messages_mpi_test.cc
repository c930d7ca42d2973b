#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <deque>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/messages/point_to_point.h"
#include "device/memory/buffer.h"
#include "device/registry/backends.h"
#include "tests/support/deferred_backend.h"

namespace strata::comm {
namespace {

// Returns the data of message number `number` from rank `from`.
std::vector<int> content(int from, int number, size_t size) {
  std::vector<int> values(size);
  std::iota(values.begin(), values.end(), 1000 * from + number);
  return values;
}

// MPI sends small messages at once, and large ones only when the receiver is ready.
const std::vector<size_t> kSizes = {1, 1 << 20, 17, 1 << 18, 1 << 20, 3};

// Every rank sends to both neighbours at once, before any of them waits.
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

// MPI would read this count as a negative number.
TEST(Messages, AMessageBeyondMpisCountsIsRefused) {
  const auto world = make_mpi_communicator();
  const auto messages = world->make_messages();
  const int next = (world->rank() + 1) % world->size();
  EXPECT_THROW(messages->send(nullptr, size_t{1} << 31, next), Error);
  EXPECT_THROW(messages->receive(nullptr, size_t{1} << 31, next), Error);
}

// Messages between the two ranks of the job as work on a DeferredStream. Sent data is copied when
// the work runs; receiving is retried until the message arrives.
class StreamMessages final : public device::Collectives {
 public:
  explicit StreamMessages(void* stream)
      : stream_(*static_cast<testing_support::DeferredStream*>(stream)) {
    MPI_Comm_dup(MPI_COMM_WORLD, &ranks_);
  }
  ~StreamMessages() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    MPI_Comm_free(&ranks_);
  }

  void all_reduce_sum(void*, int64_t, device::DType) override { refuse(); }
  void all_reduce_max(float*, int64_t) override { refuse(); }
  void reduce_scatter_sum(void*, int64_t, device::DType) override { refuse(); }
  void all_gather(void*, int64_t, device::DType) override { refuse(); }
  bool has_messages() const override { return true; }
  void send(const void* data, size_t bytes, int to) override {
    stream_.enqueue([=, this] {
      const auto* values = static_cast<const char*>(data);
      const std::vector<char>& copy = sent_.emplace_back(values, values + bytes);
      MPI_Isend(copy.data(), static_cast<int>(bytes), MPI_BYTE, to, 0, ranks_,
                &requests_.emplace_back());
    });
  }
  void receive(void* data, size_t bytes, int from) override {
    stream_.enqueue_until_done([=, this] {
      int arrived = 0;
      MPI_Iprobe(from, 0, ranks_, &arrived, MPI_STATUS_IGNORE);
      if (arrived) {
        MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, from, 0, ranks_, MPI_STATUS_IGNORE);
      }
      return arrived != 0;
    });
  }

 private:
  static void refuse() { FAIL() << "a message was expected"; }

  testing_support::DeferredStream& stream_;
  MPI_Comm ranks_;
  std::deque<std::vector<char>> sent_;
  std::vector<MPI_Request> requests_;
};

// Every rank sends to the next. A message contains what earlier work wrote. Received data is
// visible to later work, but does not overwrite memory that earlier work still uses.
void expect_order_of_the_compute_stream(Communicator& world, device::Backend& backend) {
  const int rank = world.rank(), ranks = world.size();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  constexpr auto kCompute = device::Stream::kCompute;
  const size_t most = *std::ranges::max_element(kSizes) * sizeof(int);
  const auto point_to_point = make_point_to_point(world, backend, most);
  const device::Buffer mine(backend, most), theirs(backend, most);
  std::vector<std::vector<int>> written, found;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const size_t bytes = kSizes[i] * sizeof(int);
    written.push_back(content(rank, static_cast<int>(i), kSizes[i]));
    found.emplace_back(kSizes[i]);
    backend.copy_to_device(kCompute, mine.data(), written.back().data(), bytes);
    const auto sent = point_to_point->send(mine.data(), bytes, next);
    const auto received = point_to_point->receive(theirs.data(), bytes, before);
    point_to_point->wait(received);
    backend.copy_to_host(kCompute, found.back().data(), theirs.data(), bytes);
    point_to_point->wait(sent);
    backend.fill_zero(kCompute, mine.data(), bytes);
  }
  backend.synchronize(kCompute);
  for (size_t i = 0; i < kSizes.size(); ++i) {
    EXPECT_EQ(found[i], content(before, static_cast<int>(i), kSizes[i]))
        << backend.name() << ", " << i;
  }
  world.barrier();
}

std::unique_ptr<device::Backend> make_cpu() {
  return device::make_backend({.name = "cpu", .compute_dtype = device::DType::kF32, .threads = 1});
}

TEST(PointToPoint, IsInTheOrderOfTheComputeStream) {
  const auto world = make_mpi_communicator();
  const auto cpu = make_cpu();
  expect_order_of_the_compute_stream(*world, *cpu);
  testing_support::DeferredBackend late(*cpu, static_cast<uint64_t>(world->rank()));
  expect_order_of_the_compute_stream(*world, late);
}

// Uses streams that may run ahead of the compute stream.
TEST(PointToPoint, OnStreamsOfTheDeviceIsInTheOrderOfTheComputeStream) {
  const auto world = make_mpi_communicator();
  if (world->size() != 2) return;  // one pair of ranks is enough
  const auto cpu = make_cpu();
  for (uint64_t seed = 0; seed < 8; ++seed) {
    testing_support::DeferredBackend late(*cpu, 2 * seed + static_cast<uint64_t>(world->rank()));
    late.use_collectives([](const device::RankGroup&, void* stream) {
      return std::make_unique<StreamMessages>(stream);
    });
    expect_order_of_the_compute_stream(*world, late);
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

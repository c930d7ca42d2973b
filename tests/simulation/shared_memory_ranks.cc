#include "tests/simulation/shared_memory_ranks.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "comm/rank_order_sum.h"
#include "tests/support/deferred_backend.h"

namespace strata::simulation {
namespace {

constexpr int kMostRanks = 4, kChannels = 16;
constexpr size_t kSlotBytes = 1 << 16;

// The shared state of one communicator.
struct Channel {
  std::atomic<int> arrived = 0;
  std::atomic<int> generation = 0;
  alignas(64) char slots[kMostRanks][kSlotBytes];
};

struct Shared {
  // The number of communicators that each rank has made. All ranks make them in the same order.
  std::atomic<int> made[kMostRanks] = {};
  int64_t notes[kMostRanks] = {};
  Channel channels[kChannels];
};

class SharedMemoryCommunicator final : public comm::Communicator {
 public:
  SharedMemoryCommunicator(Shared& shared, int rank, int ranks, Chaos& chaos)
      : shared_(shared), rank_(rank), ranks_(ranks), chaos_(chaos) {
    const int number = shared_.made[rank]++;
    if (number >= kChannels) fail("more than {} communicators", kChannels);
    channel_ = &shared_.channels[number];
  }

  int rank() const override { return rank_; }
  int size() const override { return ranks_; }

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    const auto element = static_cast<int64_t>(size_of(dtype));
    in_turns(data, count * element, element, [&](char* mine, int64_t bytes) {
      std::vector<char> parts(static_cast<size_t>(bytes) * static_cast<size_t>(ranks_));
      for (int rank = 0; rank < ranks_; ++rank) {
        std::memcpy(parts.data() + rank * bytes, channel_->slots[rank], static_cast<size_t>(bytes));
      }
      comm::sum_in_rank_order(parts.data(), ranks_, bytes / element, dtype, mine);
    });
  }
  void all_reduce_sum(std::span<int64_t> values) override {
    reduce(values, [](int64_t a, int64_t b) { return a + b; });
  }
  void all_reduce_max(std::span<float> values) override {
    reduce(values, [](float a, float b) { return std::max(a, b); });
  }
  // Callers ignore the rest of the data.
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    all_reduce_sum(data, count, dtype);
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    const auto element = static_cast<int64_t>(size_of(dtype));
    for (int root = 0; root < ranks_; ++root) {
      const Range shard = shard_of(count, root, ranks_);
      broadcast(static_cast<char*>(data) + shard.begin * element,
                static_cast<size_t>(shard.size() * element), root);
    }
  }
  void broadcast(void* data, size_t bytes, int root) override {
    in_turns(data, static_cast<int64_t>(bytes), 1, [&](char* mine, int64_t piece) {
      std::memcpy(mine, channel_->slots[root], static_cast<size_t>(piece));
    });
  }
  void barrier() override {
    chaos_.moment();
    meet();
  }
  std::unique_ptr<comm::Communicator> duplicate() override {
    return std::make_unique<SharedMemoryCommunicator>(shared_, rank_, ranks_, chaos_);
  }

 private:
  void meet() {
    const int generation = channel_->generation;
    if (++channel_->arrived == ranks_) {
      channel_->arrived = 0;
      ++channel_->generation;
    }
    while (channel_->generation == generation) ::sched_yield();
  }

  // Works piece by piece: every rank publishes its own piece, then combine(mine, bytes) computes
  // the result.
  template <typename Combine>
  void in_turns(void* data, int64_t bytes, int64_t multiple, const Combine& combine) {
    const auto most = static_cast<int64_t>(kSlotBytes) / multiple * multiple;
    for (int64_t done = 0; done < bytes; done += most) {
      chaos_.moment();
      char* mine = static_cast<char*>(data) + done;
      const int64_t piece = std::min(most, bytes - done);
      std::memcpy(channel_->slots[rank_], mine, static_cast<size_t>(piece));
      meet();
      combine(mine, piece);
      meet();
    }
  }

  template <typename T, typename Operation>
  void reduce(std::span<T> values, const Operation& operation) {
    in_turns(values.data(), static_cast<int64_t>(values.size_bytes()), sizeof(T),
             [&](char* mine, int64_t bytes) {
               for (int64_t at = 0; at < bytes; at += static_cast<int64_t>(sizeof(T))) {
                 T result, other;
                 std::memcpy(&result, channel_->slots[0] + at, sizeof(T));
                 for (int rank = 1; rank < ranks_; ++rank) {
                   std::memcpy(&other, channel_->slots[rank] + at, sizeof(T));
                   result = operation(result, other);
                 }
                 std::memcpy(mine + at, &result, sizeof(T));
               }
             });
  }

  Shared& shared_;
  int rank_, ranks_;
  Chaos& chaos_;
  Channel* channel_;
};

class StreamCollectives final : public device::Collectives {
 public:
  StreamCollectives(std::unique_ptr<comm::Communicator> ranks,
                    testing_support::DeferredStream& stream)
      : ranks_(std::move(ranks)), stream_(stream) {}

  void all_reduce_sum(void* data, int64_t count, device::DType dtype) override {
    enqueue([=, this] { ranks_->all_reduce_sum(data, count, dtype); });
  }
  void all_reduce_max(float* data, int64_t count) override {
    enqueue([=, this] { ranks_->all_reduce_max({data, static_cast<size_t>(count)}); });
  }
  void reduce_scatter_sum(void* data, int64_t count, device::DType dtype) override {
    enqueue([=, this] { ranks_->reduce_scatter_sum(data, count, dtype); });
  }
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    enqueue([=, this] { ranks_->all_gather(data, count, dtype); });
  }

 private:
  template <typename Work>
  void enqueue(const Work& work) {
    if (stream_.captures()) fail("a collective is captured");
    stream_.enqueue(work);
  }

  std::unique_ptr<comm::Communicator> ranks_;
  testing_support::DeferredStream& stream_;
};

}  // namespace

SharedMemory::SharedMemory(int ranks) : ranks_(ranks), bytes_(sizeof(Shared)) {
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) fail("no memory for {} ranks", ranks);
  new (memory_) Shared;
}

SharedMemory::~SharedMemory() { ::munmap(memory_, bytes_); }

std::unique_ptr<comm::Communicator> SharedMemory::communicator(int rank, Chaos& chaos) {
  return std::make_unique<SharedMemoryCommunicator>(*static_cast<Shared*>(memory_), rank, ranks_,
                                                    chaos);
}

int64_t& SharedMemory::note(int rank) { return static_cast<Shared*>(memory_)->notes[rank]; }

std::unique_ptr<device::Collectives> make_stream_collectives(comm::Communicator& communicator,
                                                             void* stream) {
  return std::make_unique<StreamCollectives>(
      communicator.duplicate(), *static_cast<testing_support::DeferredStream*>(stream));
}

}  // namespace strata::simulation

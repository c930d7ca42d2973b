#include "comm/buckets/sharding/weight_gatherer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/order/executor.h"
#include "device/memory/buffer.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/host_backend.h"

namespace strata::comm {
namespace {

using device::DType;
using device::Stream;

constexpr int64_t kGroupElements = 64,
                  kShard = kGroupElements / 2;  // shard of the first of two ranks
const std::vector<Range> kGathered = {{0, kGroupElements}, {kGroupElements, 2 * kGroupElements}};

// Two gather groups of one bucket each.
struct Weights {
  explicit Weights(device::Backend& backend)
      : shards(backend, 2 * kShard * sizeof(float)),
        groups(backend, 2 * kGroupElements * sizeof(float)) {}

  std::unique_ptr<WeightGatherer> gatherer(device::Backend& backend, Communicator& ranks) const {
    std::vector<Range> kept;
    for (const Range& group : kGathered) kept.push_back(local_shard(group, ranks));
    const device::Arena from({shards.data(), DType::kF32, 1, 2 * kShard}, 2 * kGroupElements,
                             device::packed(kept)),
        to({groups.data(), DType::kF32, 1, 2 * kGroupElements}, 2 * kGroupElements,
           device::packed(kGathered));
    return make_weight_gatherer(backend, ranks, from, to, kGathered);
  }

  device::Buffer shards, groups;
};

class BrokenLink final : public MirrorCommunicator {
 public:
  void all_gather(void*, int64_t, DType) override { fail("link down"); }
  std::unique_ptr<Communicator> duplicate() override { return std::make_unique<BrokenLink>(); }
};

// Lists `before`, a gather of group 0, and `behind`.
OperationList list_of(WeightGatherer& gatherer, std::function<void()> before,
                      std::function<void()> behind) {
  OperationList list;
  list.add({.run = std::move(before)});
  list.add({.kind = Operation::Kind::kGather,
            .object = 0,
            .lane = Lane::kGathers,
            .after = {0},
            .run = [&gatherer] { gatherer.gather(0); }});
  list.add({.after = {1}, .run = std::move(behind)});
  return list;
}

TEST(WeightGatherer, AnErrorReachesTheUserOfTheWeights) {
  testing_support::HostBackend host;
  BrokenLink two_ranks;
  const Weights weights(host);
  const auto gatherer = weights.gatherer(host, two_ranks);
  bool used = false;
  const OperationList list = list_of(
      *gatherer, [] {}, [&] { used = true; });
  const auto executor = make_executor(host);
  executor->begin(list);
  EXPECT_THROW(executor->run(0, list.size()), Error);
  EXPECT_THROW(executor->finish(), Error);
  EXPECT_FALSE(used);
}

class Late final : public testing_support::DeferredBackend {
 public:
  Late(device::Backend& inner, uint64_t seed, bool memory_is_host)
      : DeferredBackend(inner, seed), memory_is_host_(memory_is_host) {}
  bool memory_is_host() const override { return memory_is_host_; }

 private:
  const bool memory_is_host_;
};

// Gathers the weights at the time of the request. They reach a gather group's memory after its
// earlier uses, and before its later ones.
class WeightGathererOnALateDevice : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Memory, WeightGathererOnALateDevice, testing::Bool(),
                         [](const auto& test) {
                           return test.param ? "of_the_host" : "of_the_device";
                         });

TEST_P(WeightGathererOnALateDevice, IsInTheOrderOfTheComputeStream) {
  testing_support::HostBackend host;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Late late(host, seed, GetParam());
    MirrorCommunicator two_ranks;
    const Weights weights(late);
    const auto gatherer = weights.gatherer(late, two_ranks);
    const auto executor = make_executor(late);
    constexpr int kSteps = 3;
    std::vector<std::vector<float>> written, found(kSteps, std::vector<float>(kGroupElements));
    for (int step = 0; step < kSteps; ++step) {
      written.emplace_back(kShard, static_cast<float>(100 + step));
    }
    for (size_t step = 0; step < kSteps; ++step) {
      const OperationList list = list_of(
          *gatherer,
          [&] {
            late.copy_to_device(Stream::kCompute, weights.shards.data(), written[step].data(),
                                kShard * sizeof(float));
          },
          [&] {
            late.copy_to_host(Stream::kCompute, found[step].data(), weights.groups.data(),
                              kGroupElements * sizeof(float));
          });
      executor->begin(list);
      executor->run(0, list.size());
      executor->finish();
    }
    late.synchronize(Stream::kCompute);
    for (size_t step = 0; step < kSteps; ++step) {
      std::vector<float> expected = written[step];
      expected.resize(kGroupElements, 7.0f);  // the other rank's shard
      EXPECT_EQ(found[step], expected) << "schedule " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace strata::comm

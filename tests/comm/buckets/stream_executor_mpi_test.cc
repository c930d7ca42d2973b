// Gradient buckets on a device whose streams run late and in any order that their events allow,
// reduced by a stand-in for NCCL (fake_nccl.cc). The weights must have the same bits as in host
// memory.
#include <dlfcn.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/range.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/collectives.h"
#include "device/cuda/host/nccl_collectives.h"
#include "device/graph_cache.h"
#include "device/memory/buffer.h"
#include "tests/comm/buckets/descent.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/error_of.h"
#include "tests/support/host_backend.h"
#include "tests/support/matchers.h"

namespace strata::comm {
namespace {

using device::DType;
using device::Stream;
using testing_support::DeferredBackend;
using testing_support::error_of;
using testing_support::HostBackend;

class StreamExecutorOverRanks : public testing::TestWithParam<DescentCase> {
 protected:
  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
};

INSTANTIATE_TEST_SUITE_P(Modes, StreamExecutorOverRanks, testing::ValuesIn(descent_cases()),
                         [](const auto& param) { return name_of(param.param); });

TEST_P(StreamExecutorOverRanks, GivesTheBitsOfHostMemoryInAnyOrderOfStreams) {
  HostBackend host;
  Descent<HostBackend> in_host_memory(host, *world_, GetParam(),
                                      [](Stream, const std::function<void()>& work) { work(); });
  const std::vector<float> expected = in_host_memory.run();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    DeferredBackend device(host, seed + 100 * static_cast<uint64_t>(world_->rank()));
    device.use_collectives(device::cuda::make_nccl_collectives);
    Descent<DeferredBackend> on_streams(device, *world_, GetParam(),
                                        [&](Stream stream, std::function<void()> work) {
                                          device.enqueue(stream, std::move(work));
                                        });
    ASSERT_EQ(on_streams.run(), expected) << "schedule " << seed;
  }
}

// Checks that a bucket's events follow each other, whatever other streams do.
void expect_in_order(const std::vector<OperationTime>& events, int buckets, bool single_rank,
                     const DescentCase& c) {
  using enum Operation::Kind;
  std::map<std::pair<int, Operation::Kind>, OperationTime> last;
  for (const OperationTime& event : events) {
    EXPECT_LE(event.begin_ns, event.end_ns);
    last[{event.object, event.kind}] = event;
  }
  std::vector<Operation::Kind> kinds = {kClip};
  if (!single_rank) kinds.push_back(kReduce);
  kinds.insert(kinds.end(), {kCastBack, kUpdate});
  if (!single_rank && c.deferred) kinds.push_back(kFinishUpdate);
  if (!single_rank && c.sharded) kinds.push_back(kGatherUpdated);
  for (int bucket = 0; bucket < buckets; ++bucket) {
    for (size_t i = 0; i < kinds.size(); ++i) {
      ASSERT_TRUE(last.contains({bucket, kinds[i]})) << bucket << ", kind " << i;
      if (i == 0) continue;
      EXPECT_LE(last.at({bucket, kinds[i - 1]}).end_ns, last.at({bucket, kinds[i]}).begin_ns);
    }
  }
  const bool exchanged =
      !single_rank && (c.clip == ClipMode::kAfterAllReduce || (c.sharded && c.deferred));
  EXPECT_EQ(last.contains({kNoObject, kReduceNorm}) || last.contains({kNoObject, kReduceSums}),
            exchanged);
}

TEST_P(StreamExecutorOverRanks, StepsThatAreTimedHaveTheSameBits) {
  HostBackend host;
  Descent<HostBackend> in_host_memory(host, *world_, GetParam(),
                                      [](Stream, const std::function<void()>& work) { work(); });
  const std::vector<float> expected = in_host_memory.run();
  const bool single_rank = world_->size() == 1;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    DeferredBackend device(host, seed + 100 * static_cast<uint64_t>(world_->rank()));
    device.use_collectives(device::cuda::make_nccl_collectives);
    Descent<DeferredBackend> on_streams(device, *world_, GetParam(),
                                        [&](Stream stream, std::function<void()> work) {
                                          device.enqueue(stream, std::move(work));
                                        });
    GradientBuckets& buckets = on_streams.buckets();
    bool timed = false;
    int step = 0;
    // Checks all steps but the first and the third.
    const auto check = [&](const StepTimes& times) {
      EXPECT_EQ(times.measured, timed);
      if (timed) {
        expect_in_order(buckets.times(), static_cast<int>(buckets.buckets().size()), single_rank,
                        GetParam());
        EXPECT_GT(times.update_seconds, 0);
        EXPECT_GE(times.wait_seconds + 1e-9, times.exposed_communication_seconds);
        EXPECT_LE(times.exposed_communication_seconds, times.communication_seconds + 1e-9);
        EXPECT_EQ(times.communication_seconds > 0, !single_rank);
      } else {
        EXPECT_EQ(times.wait_seconds, 0);
      }
      timed = step++ % 2 == 0;
      buckets.time_steps(timed);
    };
    ASSERT_EQ(on_streams.run(nullptr, check), expected) << "schedule " << seed;
  }
}

// Calls the function `name` of NCCL's stand-in.
int fake_nccl(const char* name) {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW);
  const auto function = reinterpret_cast<int (*)()>(::dlsym(library, name));
  if (!function) throw Error(std::string("the library for NCCL has no ") + name);
  return function();
}

bool has_rest(int64_t count, int ranks) {
  return shard_of(count, ranks - 1, ranks).size() != shard_of(count, 0, ranks).size();
}

// Connections take long to make if there are many ranks.
TEST_P(StreamExecutorOverRanks, EveryKindOfCollectiveIsTriedBeforeTheFirstStep) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank has nothing to exchange";
  const int before = fake_nccl("fakeNcclCollectives"),
            all_reduces_before = fake_nccl("fakeNcclAllReduces");
  HostBackend host;
  DeferredBackend device(host, 1);
  device.use_collectives(device::cuda::make_nccl_collectives);
  Descent<DeferredBackend> on_streams(device, *world_, GetParam(),
                                      [](Stream, const std::function<void()>&) {});
  const DescentCase& c = GetParam();
  const int of_buckets = 2, of_norms = c.clip == ClipMode::kAfterAllReduce ? 1 : 0;
  // The remainder that ranks cannot share equally is reduced as a whole.
  const auto sizes = std::ranges::minmax(on_streams.buckets().buckets(), {}, &Range::size);
  const int of_rests = static_cast<int>(has_rest(sizes.min.size(), world_->size())) +
                       static_cast<int>(has_rest(sizes.max.size(), world_->size()));
  EXPECT_EQ(fake_nccl("fakeNcclAllReduces") - all_reduces_before,
            (c.sharded ? of_rests : of_buckets) + of_norms + (c.deferred ? 1 : 0));
  // Counts both halves of an all-reduce.
  EXPECT_GE(fake_nccl("fakeNcclCollectives") - before, c.sharded ? 2 * of_buckets : of_buckets);
}

TEST(NcclOverRanks, FindsTheLargest) {
  const auto world = make_mpi_communicator();
  HostBackend host;
  DeferredBackend device(host, 1);
  device.use_collectives(device::cuda::make_nccl_collectives);
  const auto nccl = make_collectives(*world, device, Stream::kCompute);
  const device::Buffer memory(device, 2 * sizeof(float));
  auto* const values = memory.as<float>();
  values[0] = static_cast<float>(world->rank());
  values[1] = -1;
  nccl->all_reduce_max(values, 2);
  device.synchronize(Stream::kCompute);
  EXPECT_EQ(values[0], static_cast<float>(world->size() - 1));
  EXPECT_EQ(values[1], -1);
}

// This holds for any number of ranks: one collective takes the equal shards, one the remainder.
TEST(NcclOverRanks, HalvesOfAnAllReduceAreTwoCollectivesAtMost) {
  const auto world = make_mpi_communicator();
  const int rank = world->rank(), ranks = world->size();
  if (ranks == 1) GTEST_SKIP() << "one rank has nothing to exchange";
  HostBackend host;
  DeferredBackend device(host, 1);
  device.use_collectives(device::cuda::make_nccl_collectives);
  const auto nccl = make_collectives(*world, device, Stream::kReduce);
  for (const int64_t count : {1, 7, 8, 100, 8 * ranks, 8 * ranks + 1, 1000 * ranks, 100'003}) {
    SCOPED_TRACE(count);
    const device::Buffer memory(device, static_cast<size_t>(count) * sizeof(float));
    auto* const values = memory.as<float>();
    for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1000 * rank);
    const auto sum_of = [&](int64_t i) {
      return static_cast<float>(i * ranks + 500 * ranks * (ranks - 1));
    };
    const int most = has_rest(count, ranks) ? 2 : 1;

    int before = fake_nccl("fakeNcclCollectives");
    nccl->reduce_scatter_sum(values, count, DType::kF32);
    EXPECT_LE(fake_nccl("fakeNcclCollectives") - before, most);
    device.synchronize(Stream::kReduce);
    const Range mine = shard_of(count, rank, ranks);
    for (int64_t i = 0; i < count; ++i) {
      if (i >= mine.begin && i < mine.end) {
        ASSERT_EQ(values[i], sum_of(i)) << i;
      } else {
        values[i] = -1;
      }
    }

    before = fake_nccl("fakeNcclCollectives");
    nccl->all_gather(values, count, DType::kF32);
    EXPECT_LE(fake_nccl("fakeNcclCollectives") - before, most);
    device.synchronize(Stream::kReduce);
    for (int64_t i = 0; i < count; ++i) ASSERT_EQ(values[i], sum_of(i)) << i;
  }
}

TEST(NcclOverRanks, LimitsThreadBlocksAsConfigured) {
  const auto world = make_mpi_communicator();
  if (world->size() == 1) GTEST_SKIP() << "with a single rank there is no NCCL";
  HostBackend host;
  DeferredBackend device(host, 1);
  device.use_collectives(device::cuda::make_nccl_collectives);
  const device::Buffer gradients(device, kGradients * sizeof(float));
  const auto limit_with = [&](const BucketOptions& options) {
    const GradientBuckets buckets(device, *world,
                                  device::Tensor{gradients.data(), DType::kF32, 1, kGradients},
                                  kBoundaries, options, [](const ReducedGradients&) {});
    return fake_nccl("fakeNcclMaxCtas");
  };
  EXPECT_EQ(limit_with({.max_ctas = 12}), 12);
  EXPECT_EQ(limit_with({}), 0);
}

TEST(NcclOverRanks, IsPassedTheWatchOfHostWaits) {
  const auto world = make_mpi_communicator();
  HostBackend host;
  DeferredBackend device(host, 1);
  std::shared_ptr<device::HostWaits> watched;
  device.use_collectives([&](const device::RankGroup& group, void* stream) {
    watched = group.waits;
    return device::cuda::make_nccl_collectives(group, stream);
  });
  const auto nccl = make_collectives(*world, device, Stream::kCompute);
  ASSERT_EQ(watched != nullptr, world->size() > 1);  // a single rank uses no NCCL
  EXPECT_TRUE(!watched || watched == world->device_waits());
}

// Records its calls.
class RecordedWaits final : public device::HostWaits {
 public:
  int begin(const char* operation) override {
    operations_.insert(operation);
    return 0;
  }
  void end(int) override {}
  int add_check(std::function<std::string()> error) override {
    check_ = std::move(error);
    return 7;
  }
  void remove_check(int check) override {
    if (check == 7) check_ = nullptr;
  }
  const std::set<std::string>& operations() const { return operations_; }
  bool checks() const { return check_ != nullptr; }
  std::string error() const { return check_(); }

 private:
  std::set<std::string> operations_;
  std::function<std::string()> check_;
};

class NcclWithErrors : public testing::Test {
 protected:
  void SetUp() override {
    if (world_->size() == 1) GTEST_SKIP() << "one rank needs no NCCL";
    void* nccl = ::dlopen("libnccl.so.2", RTLD_NOW);
    refuse_ = reinterpret_cast<void (*)(bool)>(::dlsym(nccl, "fakeNcclRefuse"));
    ASSERT_TRUE(refuse_);
  }
  std::unique_ptr<device::Collectives> connect(const std::string& gpu) {
    device_.use_collectives([&, gpu](const device::RankGroup& group, void* stream) {
      device::RankGroup watched = group;
      watched.waits = waits_;
      watched.device = gpu;
      return device::cuda::make_nccl_collectives(watched, stream);
    });
    return make_collectives(*world_, device_, Stream::kCompute);
  }

  std::unique_ptr<Communicator> world_ = make_mpi_communicator();
  HostBackend host_;
  DeferredBackend device_{host_, 1};
  std::shared_ptr<RecordedWaits> waits_ = std::make_shared<RecordedWaits>();
  void (*refuse_)(bool) = nullptr;
};

TEST_F(NcclWithErrors, NamesTheRanksThatShareAGpu) {
  refuse_(true);
  const bool has_own = world_->rank() > 1;
  const std::string error =
      error_of([&] { connect(has_own ? "another GPU" : "an H100 at 0000:1b:00.0"); });
  refuse_(false);
  EXPECT_THAT(
      error, HasSubstr("NCCL: connecting the ranks failed: invalid usage (Duplicate GPU detected); "
                       "ranks 0 and 1 both use an H100 at 0000:1b:00.0; start one rank for each"));
}

TEST_F(NcclWithErrors, ReportsErrorsOfItsCollectives) {
  const auto nccl = connect("");
  ASSERT_TRUE(waits_->checks());
  EXPECT_EQ(waits_->error(), "");
  refuse_(true);
  const std::string error = waits_->error();
  refuse_(false);
  EXPECT_THAT(error, HasSubstr("NCCL: a collective failed: "));
}

TEST_F(NcclWithErrors, StartAndEndAreWatched) {
  auto nccl = connect("");
  EXPECT_TRUE(waits_->operations().contains("NCCL's start"));
  nccl.reset();
  EXPECT_TRUE(waits_->operations().contains("NCCL's end"));
  EXPECT_FALSE(waits_->checks());
}

// Ranks may launch graphs while others still issue, because their collectives are not captured.
TEST_P(StreamExecutorOverRanks, GivesTheSameBitsWhenGraphsAreLaunched) {
  HostBackend host;
  Descent<HostBackend> in_host_memory(host, *world_, GetParam(),
                                      [](Stream, const std::function<void()>& work) { work(); });
  const std::vector<float> expected = in_host_memory.run();
  for (uint64_t seed = 0; seed < 5; ++seed) {
    DeferredBackend device(host, seed + 100 * static_cast<uint64_t>(world_->rank()));
    device.use_collectives(device::cuda::make_nccl_collectives);
    Descent<DeferredBackend> on_streams(device, *world_, GetParam(),
                                        [&](Stream stream, std::function<void()> work) {
                                          device.enqueue(stream, std::move(work));
                                        });
    device::GraphCache graphs(device, world_->rank() == 0 ? 1 : 0);
    ASSERT_EQ(on_streams.run(&graphs), expected) << "schedule " << seed;
    ASSERT_EQ(graphs.launched(), world_->rank() == 0 ? kDescentSteps - 2 : 0);
  }
}

}  // namespace
}  // namespace strata::comm

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "comm/buckets/gradient_buckets.h"
#include "comm/order/executor.h"
#include "tests/comm/buckets/bucket_step.h"
#include "tests/comm/buckets/descent.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/deferred_backend.h"
#include "tests/support/error_of.h"
#include "tests/support/host_backend.h"

namespace {

std::atomic<int> threads_left = 1 << 20;  // number of threads that this process may still start

}  // namespace

// Replaces the library's function for every thread of this test program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left-- <= 0) return EAGAIN;
  return create(thread, attributes, start, argument);
}

namespace strata::comm {
namespace {

TEST(ThreadExecutor, AThreadThatCannotBeStartedIsAnError) {
  BucketStep bucket_step;
  MirrorCommunicator two_ranks;
  for (const int startable : {0, 1}) {
    const auto error = testing_support::error_of([&] {
      threads_left = startable;
      GradientBuckets buckets(bucket_step.backend, two_ranks, bucket_step.gradients(), kBoundaries,
                              {}, bucket_step.update());
    });
    threads_left = 1 << 20;
    EXPECT_EQ(error.find("cannot start a thread that reduces gradients: "), 0u) << error;
  }
}

// A list of one collective, which fails, and two operations on gradients. The first of these has
// begun before the failure, the second has not.
TEST(ThreadExecutor, AfterAnErrorNoFurtherOperationBegins) {
  testing_support::HostBackend host;
  std::promise<void> begun, failed, second_begun;
  OperationList list;
  // Declared last: its destructor joins the threads, which use the objects above.
  const std::unique_ptr<Executor> executor = make_thread_executor(host);
  list.add({.kind = Operation::Kind::kClip, .lane = Lane::kArithmetic, .run = [&] {
              begun.set_value();
              failed.get_future().wait();
            }});
  list.add({.kind = Operation::Kind::kClip, .lane = Lane::kArithmetic, .run = [&] {
              second_begun.set_value();
            }});
  const int reduction =
      list.add({.kind = Operation::Kind::kReduce, .lane = Lane::kCollectives, .run = [&] {
                  begun.get_future().wait();
                  fail("no network");
                }});
  executor->begin(list);
  const std::string error = testing_support::error_of([&] { executor->wait_for(reduction); });
  failed.set_value();
  EXPECT_EQ(error, "no network");
  EXPECT_EQ(second_begun.get_future().wait_for(std::chrono::milliseconds(100)),
            std::future_status::timeout);
}

// A device whose work runs late, in memory that the host may use, too. Thread-safe.
class LateHostMemory final : public testing_support::DeferredBackend {
 public:
  using DeferredBackend::DeferredBackend;

  bool memory_is_host() const override { return true; }
  void issue(device::Stream s, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    enqueue(s, std::move(work));
  }
  void copy_to_device(device::Stream s, void* to, const void* from, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::copy_to_device(s, to, from, bytes);
  }
  void copy_to_host(device::Stream s, void* to, const void* from, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::copy_to_host(s, to, from, bytes);
  }
  void fill_zero(device::Stream s, void* memory, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::fill_zero(s, memory, bytes);
  }
  void store(device::Stream s, void* to, const void* from, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::store(s, to, from, bytes);
  }
  device::Event record(device::Stream s) override {
    const std::lock_guard lock(mutex_);
    return DeferredBackend::record(s);
  }
  void wait(device::Stream s, device::Event event) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::wait(s, event);
  }
  void synchronize(device::Stream s) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::synchronize(s);
  }
  void convert(device::Stream s, const device::Convert& op) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::convert(s, op);
  }
  void l2_norm_squared(device::Stream s, const device::L2NormSquared& op) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::l2_norm_squared(s, op);
  }
  void clip_to_norm(device::Stream s, const device::ClipToNorm& op) override {
    const std::lock_guard lock(mutex_);
    DeferredBackend::clip_to_norm(s, op);
  }

 private:
  std::mutex mutex_;
};

// The other rank gathers the same data.
class TwinCommunicator final : public MirrorCommunicator {
 public:
  void all_gather(void* data, int64_t count, device::DType dtype) override {
    const device::Tensor values{data, dtype, 1, count};
    const Range theirs = shard_of(count, 1, size());
    for (int64_t i = 0; i < theirs.size(); ++i) {
      testing_support::set_element(values, theirs.begin + i, testing_support::element(values, i));
    }
  }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<TwinCommunicator>();
  }
};

class ThreadExecutorInEveryMode : public testing::TestWithParam<DescentCase> {};

INSTANTIATE_TEST_SUITE_P(Modes, ThreadExecutorInEveryMode, testing::ValuesIn(descent_cases()),
                         [](const auto& param) { return name_of(param.param); });

// The executor waits for data that the host reads, sends or writes.
TEST_P(ThreadExecutorInEveryMode, GivesTheSameBitsIfTheDeviceRunsLate) {
  TwinCommunicator two_ranks;
  testing_support::HostBackend host;
  Descent<testing_support::HostBackend> at_once(
      host, two_ranks, GetParam(),
      [](device::Stream, const std::function<void()>& work) { work(); });
  const std::vector<float> expected = at_once.run();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    LateHostMemory late(host, seed);
    Descent<LateHostMemory> descent(late, two_ranks, GetParam(),
                                    [&](device::Stream stream, std::function<void()> work) {
                                      late.issue(stream, std::move(work));
                                    });
    ASSERT_EQ(descent.run(), expected) << "schedule " << seed;
  }
}

}  // namespace
}  // namespace strata::comm

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>

#include "comm/buckets/gradient_buckets.h"
#include "tests/comm/buckets/bucket_step.h"
#include "tests/comm/mirror_communicator.h"
#include "tests/support/error_of.h"

namespace {

std::atomic<int> threads_left = 1 << 20;  // that this process may start

}  // namespace

// Stands in for the library's, for every thread of this test program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threads_left-- <= 0) return EAGAIN;
  return create(thread, attributes, start, argument);
}

namespace strata::comm {
namespace {

TEST(ThreadEngine, AThreadThatCannotBeStartedIsAnError) {
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

}  // namespace
}  // namespace strata::comm

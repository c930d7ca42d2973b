#include "training/factories/backend.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/threads/processors.h"
#include "device/registry/backends.h"

namespace strata::training {
namespace {

TEST(BackendFactory, TheBackendIsTheOneAskedFor) {
  config::RunConfig config;
  config.device.threads = 1;
  config.model.precision = config::Precision::kFp32;
  EXPECT_EQ(make_backend(config)->name(), "cpu");
  EXPECT_EQ(make_backend(config)->compute_dtype(), device::DType::kF32);
  config.device.backend = &device::find_backend("reference");
  config.model.precision = config::Precision::kAuto;
  EXPECT_EQ(make_backend(config)->compute_dtype(), device::DType::kF64);
}

TEST(BackendFactory, GemmsAreInBf16IfConfigured) {
  config::RunConfig config;
  config.device.threads = 1;
  config.model.precision = config::Precision::kBf16;
  const auto backend = make_backend(config);
  EXPECT_EQ(backend->compute_dtype(), device::DType::kBF16);
  EXPECT_EQ(backend->master_dtype(), device::DType::kF32);
}

TEST(BackendFactory, ThereIsAThreadEvenWhereRanksOutnumberProcessors) {
  EXPECT_NO_THROW(make_backend(config::RunConfig{}, {0, 10000}));
}

TEST(BackendFactory, ThreadsFollowTheAffinity) {
  std::thread([&] {
    const std::vector<int> processors = affinity();
    ASSERT_TRUE(set_affinity({processors.back()}));
    EXPECT_EQ(thread_count({}), 1);
    config::RunConfig config;
    config.device.threads = 3;
    EXPECT_EQ(thread_count(config), 3);
  }).join();
}

TEST(BackendFactory, RanksShareTheProcessorsThatTheyMayBothUse) {
  const LocalRank apart{.rank = 1, .count = 2, .affinities = {{0}, {1}}};
  EXPECT_EQ(thread_count({}, apart), 1);
  const LocalRank both{.rank = 1, .count = 2, .affinities = {{0, 1}, {0, 1}}};
  EXPECT_EQ(thread_count({}, both), 1);
}

}  // namespace
}  // namespace strata::training

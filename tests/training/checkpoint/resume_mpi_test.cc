#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/training/checkpoint/resumed_training.h"

namespace strata::training {
namespace {

constexpr int kWholeRun = 12, kInterruptedAfter = 5, kSamplesOfStep = 16;

struct ResumedRun {
  const char* name;
  config::Precision precision;
  config::Sharding sharded;
  config::BalanceStrategy strategy;
};

class ResumeOverRanks : public testing::TestWithParam<ResumedRun> {
 protected:
  ResumeOverRanks() {
    uint64_t owner = static_cast<uint64_t>(::getpid());
    world_->broadcast(&owner, sizeof owner, 0);
    folder_ = std::filesystem::path(testing::TempDir()) / fmt::format("strata.resume.{}", owner);
  }
  ~ResumeOverRanks() override {
    world_->barrier();
    if (world_->rank() == 0) std::filesystem::remove_all(folder_);
  }

  // Returns a run whose updates depend only on the global batch.
  config::RunConfig run_on(int ranks) const {
    config::RunConfig config = small_run();
    config.model.precision = GetParam().precision;
    config.optimizer.sharded = GetParam().sharded;
    config.batch.load_balance.strategy = GetParam().strategy;
    config.clip = {config::ClipMode::kAfterAllReduce, 0.3};
    config.batch.micro_batch = kSamplesOfStep / ranks;
    return config;
  }
  void leave_a_checkpoint(const config::RunConfig& config) {
    train_to_checkpoint(config, *make_backend(config), *world_, *source_, 7, kInterruptedAfter,
                        folder_);
  }
  TrainingHistory go_on(const config::RunConfig& config, comm::Communicator& communicator) {
    return train_from_checkpoint(config, *make_backend(config), communicator, *source_, 7,
                                 kWholeRun - kInterruptedAfter, folder_);
  }
  TrainingHistory uninterrupted(const config::RunConfig& config) {
    return last_steps(train(config, *world_, *source_, 7, kWholeRun),
                      kWholeRun - kInterruptedAfter);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(48));
  std::filesystem::path folder_;
};

using config::BalanceStrategy;
using config::Precision;
using config::Sharding;
INSTANTIATE_TEST_SUITE_P(
    Runs, ResumeOverRanks,
    testing::Values(
        ResumedRun{"fp32", Precision::kFp32, Sharding::kNone, BalanceStrategy::kRandom},
        ResumedRun{"fp32_sharded", Precision::kFp32, Sharding::kState,
                   BalanceStrategy::kStratified},
        ResumedRun{"fp32_gradients", Precision::kFp32, Sharding::kGradients,
                   BalanceStrategy::kRandom},
        ResumedRun{"fp32_all", Precision::kFp32, Sharding::kAll, BalanceStrategy::kRandom},
        ResumedRun{"bf16_all", Precision::kBf16, Sharding::kAll, BalanceStrategy::kStratified},
        ResumedRun{"bf16", Precision::kBf16, Sharding::kNone, BalanceStrategy::kPlanned},
        ResumedRun{"bf16_sharded", Precision::kBf16, Sharding::kState, BalanceStrategy::kExchange}),
    [](const auto& test) { return test.param.name; });

TEST_P(ResumeOverRanks, TheSameRanksGiveTheSameBits) {
  const config::RunConfig config = run_on(world_->size());
  leave_a_checkpoint(config);
  const TrainingHistory resumed = go_on(config, *world_), whole = uninterrupted(config);
  EXPECT_EQ(resumed.weights, whole.weights);
  EXPECT_EQ(largest_loss_difference(resumed, whole), 0);
}

// Every rank resumes alone from the checkpoint of all ranks.
TEST_P(ResumeOverRanks, OneRankGivesTheSameLossesUpToRounding) {
  const config::RunConfig config = run_on(world_->size());
  leave_a_checkpoint(config);
  const auto single = comm::make_single_communicator();
  const double bound = GetParam().precision == Precision::kFp32 ? 1e-4 : 1e-2;
  EXPECT_LE(largest_loss_difference(go_on(run_on(1), *single), uninterrupted(config)), bound);
}

}  // namespace
}  // namespace strata::training

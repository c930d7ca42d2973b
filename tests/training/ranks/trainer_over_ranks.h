// Training of one small model by all ranks of an MPI job, and by one.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tests/support/deferred_backend.h"
#include "tests/training/small_training.h"
#include "training/trainer.h"

namespace strata::training {

inline constexpr int kSteps = 20, kSamples = 48, kGlobalBatch = 16;

struct Mode {
  config::ClipMode clip;
  double max_norm;
  config::BalanceStrategy strategy;
  config::ReduceDType reduce;
  // Bounds the difference of a loss from that of one rank with the whole batch, over all steps.
  double bound = 0;
  config::OptimizerKind optimizer = config::OptimizerKind::kAdam;
};

inline config::RunConfig run_of(const Mode& mode, int micro_batch, int accumulation) {
  config::RunConfig config = small_run();
  config.clip = {mode.clip, mode.max_norm};
  config.optimizer.name = mode.optimizer;
  config.reduce.dtype = mode.reduce;
  config.batch.load_balance.strategy = mode.strategy;
  config.batch.micro_batch = micro_batch;
  config.batch.gradient_accumulation_steps = accumulation;
  return config;
}

class TrainerOverRanks : public testing::TestWithParam<Mode> {
 protected:
  TrainingHistory on_all_ranks(uint64_t seed = 7, int steps = kSteps) {
    return train(run_of(GetParam(), kGlobalBatch / world_->size(), 1), *world_, *source_, seed,
                 steps);
  }
  // Trains on a single rank with `accumulation` micro-batches.
  TrainingHistory on_a_single_rank(int accumulation) {
    return train(run_of(GetParam(), kGlobalBatch / accumulation, accumulation), *single_, *source_,
                 7, kSteps);
  }

  std::unique_ptr<comm::Communicator> world_ = comm::make_mpi_communicator();
  std::unique_ptr<comm::Communicator> single_ = comm::make_single_communicator();
  std::unique_ptr<data::InstanceSource> source_ = open_small(counting_instances(kSamples));
};

inline constexpr double kNeverClips = 1e6, kClips = 0.3;
// Gradients that are sent in bf16 have a relative error of up to 2^-9.
inline constexpr double kFp32 = 1e-4, kBf16 = 1e-3;
inline constexpr auto kRandom = config::BalanceStrategy::kRandom,
                      kExchange = config::BalanceStrategy::kExchange,
                      kStratified = config::BalanceStrategy::kStratified,
                      kPresort = config::BalanceStrategy::kStratifiedPresort,
                      kPlanned = config::BalanceStrategy::kPlanned;
inline constexpr auto kLamb = config::OptimizerKind::kLamb,
                      kMadgrad = config::OptimizerKind::kMadgrad,
                      kAcClip = config::OptimizerKind::kAcClip, kSgd = config::OptimizerKind::kSgd;
inline constexpr auto kNone = config::Sharding::kNone, kState = config::Sharding::kState,
                      kGradients = config::Sharding::kGradients, kAll = config::Sharding::kAll;
inline constexpr auto kF32 = config::ReduceDType::kFp32, kBF16 = config::ReduceDType::kBf16;

inline std::string name_of_mode(const testing::TestParamInfo<Mode>& test) {
  const Mode& mode = test.param;
  std::string strategy = name_of(mode.strategy);
  std::replace(strategy.begin(), strategy.end(), '+', '_');
  return fmt::format("{}_{}_{}_{}_{}", name_of(mode.optimizer), config::name_of(mode.clip),
                     mode.max_norm == kNeverClips ? "loose" : "tight", strategy,
                     name_of(mode.reduce));
}

}  // namespace strata::training

#include "harness/run_config_checks.h"

#include <fmt/format.h>

#include "base/error.h"

namespace strata::harness {
namespace {

// The key at fault and why.
struct Conflict {
  std::string key;
  std::string reason;
};

Conflict find_conflict(const RunConfig& config) {
  const bool closed = config.run.division == Division::kClosed;
  if (closed && config.clip.mode == ClipMode::kBucketBeforeAllReduce) {
    return {"clip.mode",
            "bucket_before_allreduce is for the open division (run.division is closed); use "
            "after_allreduce"};
  }
  if (closed && config.target.masked_lm_accuracy < 0.72) {
    return {"target.masked_lm_accuracy",
            fmt::format("the closed division asks for at least 0.72, not {}; set run.division to "
                        "open for another target",
                        config.target.masked_lm_accuracy)};
  }
  if (closed && config.optimizer.name != OptimizerKind::kLamb) {
    return {"optimizer.name",
            fmt::format("the closed division updates with lamb, not {}; set run.division to open "
                        "for another optimizer",
                        name_of(config.optimizer.name))};
  }
  if (config.device.backend == BackendKind::kReference &&
      config.model.precision == Precision::kBf16) {
    return {"model.precision",
            "device.backend reference computes in double; bf16 needs backend cpu"};
  }
  if (config.model.precision == Precision::kFp8 && config.device.backend == BackendKind::kCuda &&
      config.batch.round_tokens % 16 != 0) {
    return {"batch.round_tokens",
            fmt::format("{} is not a multiple of 16, as model.precision fp8 needs on cuda; 64 is "
                        "good for it",
                        config.batch.round_tokens)};
  }
  if (config.device.graphs && config.device.backend != BackendKind::kCuda) {
    return {"device.graphs", fmt::format("the {} backend has nothing to record; use cuda or false",
                                         name_of(config.device.backend))};
  }
  const bool chooses_attention = config.device.attention != device::AttentionKernel::kFastest;
  const bool chooses_epilogues = config.device.epilogues != device::FusedEpilogues::kFastest;
  if ((chooses_attention || chooses_epilogues) && config.device.backend != BackendKind::kCuda) {
    return {chooses_attention ? "device.attention" : "device.epilogues",
            fmt::format("the {} backend has nothing to choose from; use cuda or fastest",
                        name_of(config.device.backend))};
  }
  const LoadBalanceConfig& balance = config.batch.load_balance;
  const bool grouped = balance.strategy == BalanceStrategy::kStratifiedPresort ||
                       balance.strategy == BalanceStrategy::kPlanned;
  if (balance.group_ranks && !grouped) {
    return {"batch.load_balance.group_ranks",
            fmt::format("strategy {} has no groups of ranks; use stratified+presort or planned, or "
                        "leave group_ranks at auto",
                        name_of(balance.strategy))};
  }
  if (config.optimizer.lr < config.schedule.end_lr) {
    return {"schedule.end_lr", fmt::format("{} is above optimizer.lr, {}; the rate would rise",
                                           config.schedule.end_lr, config.optimizer.lr)};
  }
  if (config.schedule.training_steps <= config.schedule.warmup_steps) {
    return {"schedule.training_steps",
            fmt::format("{} leaves no step after schedule.warmup_steps, {}",
                        config.schedule.training_steps, config.schedule.warmup_steps)};
  }
  return {};
}

}  // namespace

void check_combinations(const RunConfig& config,
                        const std::function<std::string(const std::string&)>& source_of) {
  const Conflict conflict = find_conflict(config);
  if (!conflict.key.empty()) {
    fail("{}: {}: {}", source_of(conflict.key), conflict.key, conflict.reason);
  }
}

}  // namespace strata::harness

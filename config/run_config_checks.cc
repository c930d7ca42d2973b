#include "config/run_config_checks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "device/registry/backends.h"
#include "plan/combinations.h"

namespace strata::config {
namespace {

// The key at fault and the reason.
struct Conflict {
  std::string key;
  std::string reason;
};

// Returns the names of the backends that have this feature.
std::string those_with(bool device::BackendKind::*what) {
  std::vector<const char*> names;
  for (const device::BackendKind& kind : device::backend_kinds()) {
    if (kind.*what) names.push_back(kind.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

using enum plan::Setting;
using C = RunConfig;

bool reduces_micro_batches(const C& c) {
  return c.optimizer.sharded >= Sharding::kGradients && c.batch.gradient_accumulation_steps > 1 &&
         c.batch.accumulation_order == AccumulationOrder::kMicroBatch;
}

constexpr plan::Expression<C> kExpressions[] = {
    {kClosedDivision, "run.division", "set run.division to open",
     [](const C& c) { return c.run.division == Division::kClosed; }},
    {kStages, "parallel.stages", "set parallel.stages to 1",
     [](const C& c) { return c.parallel.stages > 1; }},
    {kModules, "ouroboros.modules", "set ouroboros.modules to 1",
     [](const C& c) { return c.ouroboros.modules > 1; }},
    {kAccumulation, "batch.gradient_accumulation_steps",
     "set batch.gradient_accumulation_steps to 1",
     [](const C& c) { return c.batch.gradient_accumulation_steps > 1; }},
    {kLayerOrder, "batch.accumulation_order", "set batch.accumulation_order to micro_batch",
     [](const C& c) { return c.batch.accumulation_order == AccumulationOrder::kLayer; }},
    {kRecompute, "batch.activations", "set batch.activations to keep",
     [](const C& c) { return c.batch.activations == ActivationPolicy::kRecompute; }},
    {kGraphs, "device.graphs", "set device.graphs to false",
     [](const C& c) { return c.device.graphs; }},
    {kFp8, "model.precision", "set model.precision to bf16",
     [](const C& c) { return c.model.precision == Precision::kFp8; }},
    {kFp16, "model.precision", "set model.precision to bf16",
     [](const C& c) { return c.model.precision == Precision::kFp16; }},
    {kOtherThanFp16, "model.precision", "set model.precision to fp16",
     [](const C& c) { return c.model.precision != Precision::kFp16; }},
    {kPreNorm, "model.norm", "set model.norm to post",
     [](const C& c) { return c.model.norm == NormKind::kPre; }},
    {kNoPostNorm, "model.norm", "set model.norm to post",
     [](const C& c) { return c.model.norm != NormKind::kPost; }},
    {kNoPreNorm, "model.norm", "set model.norm to pre",
     [](const C& c) { return c.model.norm != NormKind::kPre; }},
    {kAnyNorm, "model.norm", "set model.norm to none",
     [](const C& c) { return c.model.norm != NormKind::kNone; }},
    {kLayerDrop, "layer_drop.theta", "set layer_drop.theta to 1",
     [](const C& c) { return c.layer_drop.theta < 1; }},
    {kStandardization, "standardization.weight", "set standardization.weight to 0",
     [](const C& c) { return c.standardization.enabled(); }},
    {kClipRank, "clip.mode", "set clip.mode to after_allreduce",
     [](const C& c) { return c.clip.mode == ClipMode::kBeforeAllReduce; }},
    {kClipBucket, "clip.mode", "set clip.mode to after_allreduce",
     [](const C& c) { return c.clip.mode == ClipMode::kBucketBeforeAllReduce; }},
    {kSharded, "optimizer.sharded", "set optimizer.sharded to none",
     [](const C& c) { return c.optimizer.sharded != Sharding::kNone; }},
    {kShardedGradients, "optimizer.sharded", "set optimizer.sharded to state",
     [](const C& c) { return c.optimizer.sharded >= Sharding::kGradients; }},
    {kShardedWeights, "optimizer.sharded", "set optimizer.sharded to gradients",
     [](const C& c) { return c.optimizer.sharded == Sharding::kAll; }},
    {kReducedMicroBatches, "optimizer.sharded",
     "set batch.accumulation_order to layer or optimizer.sharded to state", reduces_micro_batches},
    {kSplitTiedEmbedding, "reduce.split_tied_embedding", "set reduce.split_tied_embedding to false",
     [](const C& c) { return c.reduce.split_tied_embedding; }},
    {kHalfLayers, "reduce.half_layers", "set reduce.half_layers to false",
     [](const C& c) { return c.reduce.half_layers; }},
    {kBf16Sums, "reduce.accumulate", "set reduce.accumulate to fp32",
     [](const C& c) { return c.reduce.accumulate != ReduceAccumulation::kFp32; }},
    {kSentOtherThanBf16, "reduce.dtype", "set reduce.dtype to bf16",
     [](const C& c) { return c.reduce.dtype != ReduceDType::kBf16; }},
    {kSentFp16, "reduce.dtype", "set reduce.dtype to bf16",
     [](const C& c) { return c.reduce.dtype == ReduceDType::kFp16; }},
    {kOtherThanLamb, "optimizer.name", "set optimizer.name to lamb",
     [](const C& c) { return c.optimizer.name != OptimizerKind::kLamb; }},
    {kCheckpoints, "checkpoint.every_steps",
     "set checkpoint.every_steps and checkpoint.every_seconds to 0",
     [](const C& c) { return c.checkpoint.enabled(); }},
};

void find_combinations(const RunConfig& config, std::vector<Conflict>& conflicts) {
  plan::visit_impossible(
      std::span<const plan::Expression<C>>(kExpressions), config,
      [&](const auto& refused, const auto& with, const char* reason) {
        conflicts.push_back(
            {refused.name, fmt::format("{}; {}, or {}", reason, with.remedy, refused.remedy)});
      });
}

void find_conflicts_of_batches(const RunConfig& config, std::vector<Conflict>& conflicts) {
  const int stages = config.parallel.stages;
  const int micro_batches = config.batch.gradient_accumulation_steps;
  if (micro_batches < stages) {
    conflicts.push_back(
        {"parallel.stages",
         fmt::format("{} stages need as many micro-batches in flight, but "
                     "batch.gradient_accumulation_steps is {}; raise it, or use fewer stages",
                     stages, micro_batches)});
  }
  constexpr int kMostInFlight = 1024;
  const bool layer_order = config.batch.accumulation_order == AccumulationOrder::kLayer;
  if ((layer_order || stages > 1) && micro_batches > kMostInFlight) {
    conflicts.push_back(
        {"batch.gradient_accumulation_steps",
         fmt::format("layer order and pipelines have all {} micro-batches in memory at once; use "
                     "at most {}, or accumulation_order micro_batch and 1 stage",
                     micro_batches, kMostInFlight)});
  }
}

void find_conflicts_of_backend(const RunConfig& config, std::vector<Conflict>& conflicts) {
  const device::BackendKind& backend = *config.device.backend;
  const bool lacks_bf16 = !backend.computes_in(device::DType::kBF16);
  const bool lacks_fp32 =
      !backend.computes_in(device::DType::kF32) && !backend.computes_in(device::DType::kF64);
  const Precision precision = config.model.precision;
  const bool lacks_fp16 = !backend.computes_in(device::DType::kF16);
  if ((precision == Precision::kBf16 && lacks_bf16) ||
      (precision == Precision::kFp16 && lacks_fp16) ||
      (precision == Precision::kFp32 && lacks_fp32)) {
    conflicts.push_back(
        {"model.precision", fmt::format("device.backend {} computes in {}, not in {}; use auto",
                                        backend.name, backend.dtypes(), name_of(precision))});
  }
  if (precision == Precision::kFp8 && config.batch.round_tokens % backend.float8_tokens != 0) {
    conflicts.push_back(
        {"batch.round_tokens",
         fmt::format("{} is not a multiple of {}, which model.precision fp8 needs on {}; use {}",
                     config.batch.round_tokens, backend.float8_tokens, backend.name,
                     std::lcm(64, backend.float8_tokens))});
  }
  if (config.device.graphs && !backend.captures_graphs) {
    conflicts.push_back(
        {"device.graphs",
         fmt::format("the {} backend cannot capture graphs; use {}, or set device.graphs to false",
                     backend.name, those_with(&device::BackendKind::captures_graphs))});
  }
  for (const auto& [option, value] : config.device.options) {
    try {
      backend.check_option(option, value);
    } catch (const Error& error) {
      conflicts.push_back({"device.options", error.what()});
    }
  }
}

std::vector<Conflict> find_conflicts(const RunConfig& config) {
  std::vector<Conflict> conflicts;
  find_combinations(config, conflicts);
  find_conflicts_of_batches(config, conflicts);
  find_conflicts_of_backend(config, conflicts);
  if (config.run.division == Division::kClosed && config.target.masked_lm_accuracy < 0.72) {
    conflicts.push_back(
        {"target.masked_lm_accuracy", fmt::format("the closed division needs at least 0.72, not "
                                                  "{}; set run.division to open for another target",
                                                  config.target.masked_lm_accuracy)});
  }
  if (std::exp2(std::round(std::log2(config.loss_scale.initial))) != config.loss_scale.initial) {
    conflicts.push_back({"loss_scale.initial", fmt::format("{} is not a power of two; use 65536",
                                                           config.loss_scale.initial)});
  }
  const LoadBalanceConfig& balance = config.batch.load_balance;
  const bool grouped = balance.strategy == BalanceStrategy::kStratifiedPresort ||
                       balance.strategy == BalanceStrategy::kPlanned;
  if (balance.group_ranks && !grouped) {
    conflicts.push_back(
        {"batch.load_balance.group_ranks",
         fmt::format("strategy {} has no groups of ranks; use stratified+presort or planned, or "
                     "leave group_ranks at auto",
                     name_of(balance.strategy))});
  }
  if (config.optimizer.lr < config.lr_schedule.end_lr) {
    conflicts.push_back(
        {"lr_schedule.end_lr",
         fmt::format("{} is above optimizer.lr ({}), so the rate would rise; lower it",
                     config.lr_schedule.end_lr, config.optimizer.lr)});
  }
  const int64_t latest_start = optim::first_t(config.lr_schedule.name);
  if (config.lr_schedule.start_warmup_step > latest_start) {
    conflicts.push_back(
        {"lr_schedule.start_warmup_step",
         fmt::format("{} is after the first step, so the first learning rates would be negative; "
                     "with lr_schedule.name {} use at most {}",
                     config.lr_schedule.start_warmup_step, name_of(config.lr_schedule.name),
                     latest_start)});
  }
  if (config.lr_schedule.training_steps <= config.lr_schedule.warmup_steps) {
    conflicts.push_back(
        {"lr_schedule.training_steps",
         fmt::format("{} leaves no step after lr_schedule.warmup_steps ({}); raise it",
                     config.lr_schedule.training_steps, config.lr_schedule.warmup_steps)});
  }
  return conflicts;
}

}  // namespace

std::vector<std::string> conflicts_in(
    const RunConfig& config, const std::function<std::string(const std::string&)>& source_of) {
  std::vector<std::string> lines;
  for (const Conflict& conflict : find_conflicts(config)) {
    lines.push_back(
        fmt::format("{}: {}: {}", source_of(conflict.key), conflict.key, conflict.reason));
  }
  return lines;
}

std::string combinations_reference() {
  const auto key_of = [](plan::Setting setting) {
    return std::ranges::find(kExpressions, setting, &plan::Expression<C>::setting)->name;
  };
  // A row per refused setting, in the order of their first combinations.
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  for (const plan::Combination& each : plan::impossible_combinations()) {
    const std::string refused = key_of(each.refused);
    const std::string reason = fmt::format("`{}`: {}", key_of(each.with), each.reason);
    auto row = std::ranges::find(rows, refused, [](const auto& r) { return r.first; });
    if (row == rows.end()) row = rows.insert(row, {refused, {}});
    if (row->second.empty() || row->second.back() != reason) row->second.push_back(reason);
  }
  std::string table = "| setting | is refused with |\n| --- | --- |\n";
  for (const auto& [refused, reasons] : rows) {
    table += fmt::format("| `{}` | {} |\n", refused, fmt::join(reasons, "; "));
  }
  return table;
}

}  // namespace strata::config

#include "config/run_config_checks.h"

#include <fmt/ranges.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/registry/backends.h"

namespace strata::config {
namespace {

// The key at fault and why.
struct Conflict {
  std::string key;
  std::string reason;
};

// The names of the backends that have it.
std::string those_with(bool device::BackendKind::*what) {
  std::vector<const char*> names;
  for (const device::BackendKind& kind : device::backend_kinds()) {
    if (kind.*what) names.push_back(kind.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void find_conflicts_with_stages(const RunConfig& config, std::vector<Conflict>& conflicts) {
  const int stages = config.parallel.stages;
  const auto refuse = [&](const char* reason) { conflicts.push_back({"parallel.stages", reason}); };
  if (config.run.division == Division::kClosed) {
    refuse("a pipeline is for the open division (run.division is closed); use 1");
  }
  if (config.batch.gradient_accumulation_steps < stages) {
    conflicts.push_back(
        {"parallel.stages",
         fmt::format("{} stages need as many micro-batches under way, "
                     "batch.gradient_accumulation_steps is {}; raise it, or use fewer stages",
                     stages, config.batch.gradient_accumulation_steps)});
  }
  if (config.batch.accumulation_order == AccumulationOrder::kLayer) {
    refuse(
        "a pipeline has an order of its own (batch.accumulation_order is layer); use micro_batch, "
        "or 1 stage");
  }
  if (config.device.graphs) {
    refuse(
        "what stages send each other is in the middle of a step, which no graph can hold; set "
        "device.graphs to false, or use 1 stage");
  }
  if (config.model.precision == Precision::kFp8) {
    refuse(
        "what stages send each other has no copy in FP8, which a layer's first GEMM reads; use "
        "model.precision bf16, or 1 stage");
  }
  if (config.optimizer.sharded >= Sharding::kGradients) {
    refuse(
        "shards of gradients and weights are not built for a part of the model; set "
        "optimizer.sharded to state or none, or use 1 stage");
  }
}

void find_conflicts_with_modules(const RunConfig& config, std::vector<Conflict>& conflicts) {
  const auto refuse_if = [&](bool found, const char* reason) {
    if (found) conflicts.push_back({"ouroboros.modules", reason});
  };
  refuse_if(config.run.division == Division::kClosed,
            "delayed gradients are for the open division (run.division is closed); use 1");
  refuse_if(config.batch.gradient_accumulation_steps > 1,
            "modules go back with one micro-batch a step; set batch.gradient_accumulation_steps to "
            "1, or use 1 module");
  refuse_if(config.batch.accumulation_order == AccumulationOrder::kLayer,
            "modules have an order of their own (batch.accumulation_order is layer); use "
            "micro_batch, or 1 module");
  refuse_if(config.batch.activations == ActivationPolicy::kRecompute,
            "what a delayed backward reads is kept; set batch.activations to keep, or use 1 "
            "module");
  refuse_if(config.parallel.stages > 1,
            "modules are a division of the model among ranks already; set parallel.stages to 1, "
            "or use 1 module");
  refuse_if(config.device.graphs,
            "what modules send each other is in the middle of a step, which no graph can hold; set "
            "device.graphs to false, or use 1 module");
  refuse_if(config.optimizer.sharded != Sharding::kNone,
            "a module is on one rank, which shares it with none; set optimizer.sharded to none, or "
            "use 1 module");
  refuse_if(config.clip.mode == ClipMode::kBucketBeforeAllReduce,
            "a step's buckets have gradients of different steps, so their norms make no bound of "
            "one gradient (clip.mode is bucket_before_allreduce); use after_allreduce or none, or "
            "1 module");
  refuse_if(
      config.model.precision == Precision::kFp8,
      "scales in FP8 are those of a step, but backward comes steps later; use model.precision "
      "bf16, or 1 module");
  refuse_if(config.reduce.early_words,
            "nothing is reduced, so nothing can be early; set reduce.early_words to false, or use "
            "1 module");
  refuse_if(config.reduce.half_layers,
            "nothing is reduced, so nothing can be early; set reduce.half_layers to false, or use "
            "1 module");
  refuse_if(config.checkpoint.enabled(),
            "what is in flight between steps is in no checkpoint; set checkpoint.every_steps and "
            "checkpoint.every_seconds to 0, or use 1 module");
}

void find_conflicts_of_variants(const RunConfig& config, std::vector<Conflict>& conflicts) {
  const bool closed = config.run.division == Division::kClosed;
  if (config.model.norm != NormKind::kPost) {
    if (closed) {
      conflicts.push_back(
          {"model.norm", fmt::format("{} is for the open division (run.division is closed); "
                                     "use post",
                                     name_of(config.model.norm))});
    }
    if (config.model.norm == NormKind::kPre && config.model.precision == Precision::kFp8) {
      conflicts.push_back({"model.norm",
                           "pre is not built for model.precision fp8; use post, or "
                           "bf16"});
    }
  }
  if (config.standardization.enabled() && config.model.norm != NormKind::kNone) {
    conflicts.push_back({"standardization.weight",
                         fmt::format("the loss stands in for LayerNorm, which model.norm {} has; "
                                     "set model.norm to none, or weight to 0",
                                     name_of(config.model.norm))});
  }
  if (config.layer_drop.theta >= 1) return;
  if (config.model.norm != NormKind::kPre) {
    conflicts.push_back({"layer_drop.theta",
                         "a layer can be left out where its input passes it by; set model.norm to "
                         "pre, or theta to 1"});
  }
  if (config.device.graphs) {
    conflicts.push_back({"layer_drop.theta",
                         "every step leaves out other layers, which no graph can; set "
                         "device.graphs to false, or theta to 1"});
  }
}

void find_conflicts_of_fp16(const RunConfig& config, std::vector<Conflict>& conflicts) {
  if (std::exp2(std::round(std::log2(config.loss_scale.initial))) != config.loss_scale.initial) {
    conflicts.push_back(
        {"loss_scale.initial", fmt::format("{} is no power of two, which rounds nothing; use 65536",
                                           config.loss_scale.initial)});
  }
  if (config.model.precision != Precision::kFp16) {
    if (config.reduce.dtype == ReduceDType::kFp16) {
      conflicts.push_back({"reduce.dtype",
                           "what is sent in fp16 is scaled, as model.precision fp16 does; use "
                           "bf16, or that precision"});
    }
    return;
  }
  if (config.device.graphs) {
    conflicts.push_back({"device.graphs",
                         "with model.precision fp16 the host decides in a step whether it is "
                         "skipped, which no graph can; use false, or bf16"});
  }
  if (config.ouroboros.modules > 1) {
    conflicts.push_back({"ouroboros.modules",
                         "gradients of a step that fp16 skips would still be on their way in the "
                         "steps after it; use model.precision bf16, or 1 module"});
  }
}

std::vector<Conflict> find_conflicts(const RunConfig& config) {
  std::vector<Conflict> conflicts;
  find_conflicts_of_variants(config, conflicts);
  find_conflicts_of_fp16(config, conflicts);
  const bool closed = config.run.division == Division::kClosed;
  if (closed && config.clip.mode == ClipMode::kBucketBeforeAllReduce) {
    conflicts.push_back(
        {"clip.mode",
         "bucket_before_allreduce is for the open division (run.division is closed); use "
         "after_allreduce"});
  }
  if (closed && config.target.masked_lm_accuracy < 0.72) {
    conflicts.push_back(
        {"target.masked_lm_accuracy",
         fmt::format("the closed division asks for at least 0.72, not {}; set run.division to "
                     "open for another target",
                     config.target.masked_lm_accuracy)});
  }
  if (closed && config.optimizer.name != OptimizerKind::kLamb) {
    conflicts.push_back(
        {"optimizer.name",
         fmt::format("the closed division updates with lamb, not {}; set run.division to open "
                     "for another optimizer",
                     name_of(config.optimizer.name))});
  }
  if (config.reduce.accumulate != ReduceAccumulation::kFp32) {
    const auto refuse_if = [&](bool found, const char* reason) {
      if (found) conflicts.push_back({"reduce.accumulate", reason});
    };
    refuse_if(config.reduce.dtype != ReduceDType::kBf16,
              "what is added up in bf16 is sent in bf16; set reduce.dtype to bf16, or accumulate "
              "to fp32");
    refuse_if(config.ouroboros.modules > 1,
              "modules reduce nothing; set accumulate to fp32, or use 1 module");
    refuse_if(closed, "sums in bf16 are for the open division (run.division is closed); use fp32");
  }
  if (config.reduce.early_words) {
    const auto refuse = [&](const char* reason) {
      conflicts.push_back({"reduce.early_words", reason});
    };
    if (config.clip.mode == ClipMode::kBeforeAllReduce ||
        config.clip.mode == ClipMode::kBucketBeforeAllReduce) {
      refuse(
          "a rank's own gradient is clipped before it is reduced; set clip.mode to "
          "after_allreduce or none, or early_words to false");
    }
    if (config.parallel.stages > 1) {
      refuse("it is not built for parallel.stages; set early_words to false, or use 1 stage");
    }
    if (config.optimizer.sharded != Sharding::kNone) {
      refuse("it is not built for optimizer.sharded; set early_words to false, or sharded to none");
    }
  }
  if (config.reduce.half_layers && config.optimizer.sharded >= Sharding::kGradients) {
    conflicts.push_back({"reduce.half_layers",
                         "layers whose gradients are sharded take turns in memory as wholes; set "
                         "half_layers to false, or optimizer.sharded to state or none"});
  }
  const bool layer_order = config.batch.accumulation_order == AccumulationOrder::kLayer;
  if (closed && layer_order) {
    conflicts.push_back({"batch.accumulation_order",
                         "layer is for the open division (run.division is closed); use "
                         "micro_batch"});
  }
  constexpr int kMostInFlight = 1024;
  if ((layer_order || config.parallel.stages > 1) &&
      config.batch.gradient_accumulation_steps > kMostInFlight) {
    conflicts.push_back(
        {"batch.gradient_accumulation_steps",
         fmt::format("layer order and pipelines have all {} micro-batches in memory at once; use "
                     "at most {}, or accumulation_order micro_batch and 1 stage",
                     config.batch.gradient_accumulation_steps, kMostInFlight)});
  }
  if (layer_order && config.device.graphs) {
    conflicts.push_back({"batch.accumulation_order",
                         "layer begins to reduce in the middle of a step, which no graph can hold; "
                         "set device.graphs to false, or use micro_batch"});
  }
  if (config.batch.activations == ActivationPolicy::kRecompute &&
      config.model.precision == Precision::kFp8) {
    conflicts.push_back({"batch.activations",
                         "recompute is not built for model.precision fp8, whose copies of "
                         "activations are kept; use keep, or bf16"});
  }
  if (config.ouroboros.modules > 1) {
    find_conflicts_with_modules(config, conflicts);
  } else if (config.parallel.stages > 1) {
    find_conflicts_with_stages(config, conflicts);
  }
  const bool by_turns = config.optimizer.sharded == Sharding::kGradients ||
                        config.optimizer.sharded == Sharding::kAll;
  const char* const sharded = name_of(config.optimizer.sharded);
  if (by_turns && config.clip.mode == ClipMode::kBeforeAllReduce) {
    conflicts.push_back(
        {"optimizer.sharded",
         fmt::format("{} reduces gradients before a rank has all of its own, whose norm clip.mode "
                     "before_allreduce needs; use another clip.mode, or state",
                     sharded)});
  }
  if (by_turns && config.clip.mode == ClipMode::kBucketBeforeAllReduce && !layer_order &&
      config.batch.gradient_accumulation_steps > 1) {
    conflicts.push_back(
        {"optimizer.sharded",
         fmt::format("{} reduces every micro-batch's gradients, but clip.mode "
                     "bucket_before_allreduce clips a step's; set batch.accumulation_order to "
                     "layer, or use clip.mode after_allreduce",
                     sharded)});
  }
  if (by_turns && config.device.graphs) {
    conflicts.push_back(
        {"optimizer.sharded",
         fmt::format("{} waits for reductions in the middle of a step, which no graph can hold; "
                     "set device.graphs to false, or use state",
                     sharded)});
  }
  if (config.optimizer.sharded == Sharding::kAll && config.model.precision == Precision::kFp8) {
    conflicts.push_back({"optimizer.sharded",
                         "all is not built for model.precision fp8, whose copies of weights are "
                         "kept; use gradients, or bf16"});
  }
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
         fmt::format("{} is not a multiple of {}, as model.precision fp8 needs on {}; {} is "
                     "good for it",
                     config.batch.round_tokens, backend.float8_tokens, backend.name,
                     std::lcm(64, backend.float8_tokens))});
  }
  if (config.device.graphs && !backend.captures_graphs) {
    conflicts.push_back(
        {"device.graphs",
         fmt::format("the {} backend captures no graphs; use {} or false", backend.name,
                     those_with(&device::BackendKind::captures_graphs))});
  }
  for (const auto& [option, value] : config.device.options) {
    try {
      backend.check_option(option, value);
    } catch (const Error& error) {
      conflicts.push_back({"device.options", error.what()});
    }
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
  if (config.optimizer.lr < config.schedule.end_lr) {
    conflicts.push_back(
        {"schedule.end_lr", fmt::format("{} is above optimizer.lr, {}; the rate would rise",
                                        config.schedule.end_lr, config.optimizer.lr)});
  }
  const int64_t latest_start = optim::first_t(config.schedule.name);
  if (config.schedule.start_warmup_step > latest_start) {
    conflicts.push_back(
        {"schedule.start_warmup_step",
         fmt::format("{} is after the first step, so the first learning rates would be negative; "
                     "with schedule.name {} use at most {}",
                     config.schedule.start_warmup_step, name_of(config.schedule.name),
                     latest_start)});
  }
  if (config.schedule.training_steps <= config.schedule.warmup_steps) {
    conflicts.push_back(
        {"schedule.training_steps",
         fmt::format("{} leaves no step after schedule.warmup_steps, {}",
                     config.schedule.training_steps, config.schedule.warmup_steps)});
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

}  // namespace strata::config

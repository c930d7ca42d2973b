#include "config/run_config_names.h"

#include <vector>

#include "config/run_config.h"

namespace strata::config {
namespace {

constexpr NamedChoice<Division> kDivisions[] = {
    {Division::kOpen, "open", "model, optimizer and data order are free"},
    {Division::kClosed, "closed", "the reference's mathematics"}};
constexpr NamedChoice<SubmissionStatus> kStatuses[] = {
    {SubmissionStatus::kOnprem, "onprem", "anyone can buy it"},
    {SubmissionStatus::kCloud, "cloud", "anyone can rent it"},
    {SubmissionStatus::kResearch, "research", "anything else"}};
constexpr NamedChoice<Precision> kPrecisions[] = {
    {Precision::kAuto, "auto", "bf16 where the processor has it, else fp32"},
    {Precision::kFp32, "fp32", "32-bit floats"},
    {Precision::kBf16, "bf16", "bfloat16, with fp32 master weights and sums"},
    {Precision::kFp8, "fp8",
     "as `auto`, but [FP8 operands](methods/fp8.md) in the encoder's GEMMs; emulated by cpu"},
    {Precision::kFp16, "fp16", "as `bf16`, but in binary16 with a scaled loss (`loss_scale`)"}};
constexpr NamedChoice<BalanceStrategy> kStrategies[] = {
    {BalanceStrategy::kRandom, "random", "each rank draws random samples"},
    {BalanceStrategy::kExchange, "exchange",
     "a random global batch, sorted and dealt to all ranks"},
    {BalanceStrategy::kStratified, "stratified",
     "each rank draws a share of every stratum of lengths"},
    {BalanceStrategy::kStratifiedPresort, "stratified+presort",
     "as `stratified`, then groups of ranks sort and deal their samples"},
    {BalanceStrategy::kPlanned, "planned",
     "groups of ranks draw a share of every stratum and divide it by cost"}};
constexpr NamedChoice<AccumulationOrder> kAccumulationOrders[] = {
    {AccumulationOrder::kMicroBatch, "micro_batch",
     "forward and backward of one micro-batch after the other"},
    {AccumulationOrder::kLayer, "layer",
     "all micro-batches pass one layer before the next, so a layer's gradients are reduced during "
     "backward of all layers before it; all micro-batches are in memory at once"}};
constexpr NamedChoice<ActivationPolicy> kActivationPolicies[] = {
    {ActivationPolicy::kKeep, "keep", "until backward reads them"},
    {ActivationPolicy::kRecompute, "recompute",
     "each layer keeps only its input and repeats its forward before its backward: the same bits, "
     "a third more arithmetic"}};
constexpr NamedChoice<PipelineKind> kPipelines[] = {
    {PipelineKind::kContiguous, "contiguous", "consecutive layers, the usual pipeline"},
    {PipelineKind::kModular, "modular", "every `stages`-th layer: stages wait less and send more"}};
constexpr NamedChoice<NormKind> kNorms[] = {
    {NormKind::kPost, "post", "after every sublayer's sum, as in BERT"},
    {NormKind::kPre, "pre",
     "before every sublayer and the heads, only with backends cpu, cuda and reference"},
    {NormKind::kNone, "none",
     "no LayerNorm; its gain and bias stay, to be trained with `standardization`"}};
constexpr NamedChoice<StandardizationAxis> kStandardizationAxes[] = {
    {StandardizationAxis::kUnit, "unit",
     "mean and variance of each hidden unit over a micro-batch's tokens, so the micro-batch's size "
     "changes what is learned"},
    {StandardizationAxis::kToken, "token",
     "mean and variance of each token over its hidden units"}};
constexpr NamedChoice<TiedGradient> kTiedGradients[] = {
    {TiedGradient::kSum, "sum", "their sum, as without delay"},
    {TiedGradient::kAverage, "average", "half their sum, in steps with delay"}};
constexpr NamedChoice<OptimizerKind> kOptimizers[] = {
    {OptimizerKind::kAdam, "adam", "Adam with decoupled weight decay and bias correction"},
    {OptimizerKind::kLamb, "lamb",
     "Adam, with each weight tensor's update scaled by its trust ratio"},
    {OptimizerKind::kMadgrad, "madgrad",
     "dual averaging with momentum, over the cube root of summed squares"},
    {OptimizerKind::kAcClip, "acclip", "momentum, with each element clipped by its own threshold"},
    {OptimizerKind::kSgd, "sgd", "SGD with momentum"}};
constexpr NamedChoice<Sharding> kShardings[] = {
    {Sharding::kNone, "none", "nothing"},
    {Sharding::kState, "state", "moments (ZeRO stage 1)"},
    {Sharding::kGradients, "gradients",
     "also gradients: layers share buffers, and in `micro_batch` order every micro-batch's "
     "gradients are reduced (ZeRO stage 2)"},
    {Sharding::kAll, "all",
     "also weights: gathered one layer ahead and dropped after use; embeddings and heads stay for "
     "the step (ZeRO stage 3)"}};
constexpr NamedChoice<LrScheduleKind> kLrSchedules[] = {
    {LrScheduleKind::kWarmupThenPolynomialDecay, "warmup_then_polynomial_decay",
     "the published open-division runs; the first step is t = 1, D is 0 at t = `warmup_steps` and "
     "1 at t = `training_steps`"},
    {LrScheduleKind::kPolynomialDecay, "polynomial_decay",
     "MLPerf's reference; the first step is t = 0, D is 0 at t = 0 and 1 at t = `training_steps`; "
     "a warm-up replaces the decay's beginning, so `lr` is not reached"}};
constexpr NamedChoice<ClipMode> kClipModes[] = {
    {ClipMode::kNone, "none", "no clipping"},
    {ClipMode::kAfterAllReduce, "after_allreduce", "by the norm of the reduced gradient"},
    {ClipMode::kBeforeAllReduce, "before_allreduce", "each rank by the norm of its own gradient"},
    {ClipMode::kBucketBeforeAllReduce, "bucket_before_allreduce", "each rank, bucket by bucket"}};
constexpr NamedChoice<ReduceDType> kReduceDTypes[] = {
    {ReduceDType::kFp32, "fp32", "32-bit floats"},
    {ReduceDType::kBf16, "bf16", "half the traffic"},
    {ReduceDType::kFp16, "fp16", "half the traffic, more significant bits, less range"}};
constexpr NamedChoice<ReduceAccumulation> kReduceAccumulations[] = {
    {ReduceAccumulation::kFp32, "fp32", "rounded once, at the end"},
    {ReduceAccumulation::kBf16, "bf16", "rounded after every addition"},
    {ReduceAccumulation::kBf16Chunked, "bf16_chunked",
     "as `bf16`, but first in chunks of ranks, then in chunks of their sums, and so on"}};

template <typename Enum>
const char* find_name(Enum value) {
  for (const NamedChoice<Enum>& choice : choices_of<Enum>()) {
    if (choice.value == value) return choice.name;
  }
  return "";
}

}  // namespace

template <>
std::span<const NamedChoice<Division>> choices_of() {
  return kDivisions;
}
template <>
std::span<const NamedChoice<SubmissionStatus>> choices_of() {
  return kStatuses;
}
template <>
std::span<const NamedChoice<Precision>> choices_of() {
  return kPrecisions;
}
template <>
std::span<const NamedChoice<const device::BackendKind*>> choices_of() {
  static const auto choices = [] {
    std::vector<NamedChoice<const device::BackendKind*>> all;
    for (const device::BackendKind& kind : device::backend_kinds()) {
      all.push_back({&kind, kind.name, kind.meaning});
    }
    return all;
  }();
  return choices;
}
template <>
std::span<const NamedChoice<BalanceStrategy>> choices_of() {
  return kStrategies;
}
template <>
std::span<const NamedChoice<AccumulationOrder>> choices_of() {
  return kAccumulationOrders;
}
template <>
std::span<const NamedChoice<ActivationPolicy>> choices_of() {
  return kActivationPolicies;
}
template <>
std::span<const NamedChoice<PipelineKind>> choices_of() {
  return kPipelines;
}
template <>
std::span<const NamedChoice<NormKind>> choices_of() {
  return kNorms;
}
template <>
std::span<const NamedChoice<StandardizationAxis>> choices_of() {
  return kStandardizationAxes;
}
template <>
std::span<const NamedChoice<TiedGradient>> choices_of() {
  return kTiedGradients;
}
template <>
std::span<const NamedChoice<OptimizerKind>> choices_of() {
  return kOptimizers;
}
template <>
std::span<const NamedChoice<Sharding>> choices_of() {
  return kShardings;
}
template <>
std::span<const NamedChoice<LrScheduleKind>> choices_of() {
  return kLrSchedules;
}
template <>
std::span<const NamedChoice<ClipMode>> choices_of() {
  return kClipModes;
}
template <>
std::span<const NamedChoice<ReduceDType>> choices_of() {
  return kReduceDTypes;
}
template <>
std::span<const NamedChoice<ReduceAccumulation>> choices_of() {
  return kReduceAccumulations;
}

const char* name_of(Division value) { return find_name(value); }
const char* name_of(SubmissionStatus value) { return find_name(value); }
const char* name_of(Precision value) { return find_name(value); }
const char* name_of(const device::BackendKind* value) { return value->name; }
const char* name_of(BalanceStrategy value) { return find_name(value); }
const char* name_of(AccumulationOrder value) { return find_name(value); }
const char* name_of(ActivationPolicy value) { return find_name(value); }
const char* name_of(PipelineKind value) { return find_name(value); }
const char* name_of(NormKind value) { return find_name(value); }
const char* name_of(StandardizationAxis value) { return find_name(value); }
const char* name_of(TiedGradient value) { return find_name(value); }
const char* name_of(OptimizerKind value) { return find_name(value); }
const char* name_of(Sharding value) { return find_name(value); }
const char* name_of(LrScheduleKind value) { return find_name(value); }
const char* name_of(ClipMode value) { return find_name(value); }
const char* name_of(ReduceDType value) { return find_name(value); }
const char* name_of(ReduceAccumulation value) { return find_name(value); }

}  // namespace strata::config

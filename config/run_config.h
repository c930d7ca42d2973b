// The configuration of a run: plain structs read from one YAML file. docs/config.md lists every key
// with its type, default and meaning; config_reference() writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bert/norm.h"
#include "bert/stage.h"
#include "comm/buckets/clip_mode.h"
#include "device/registry/backends.h"
#include "loadbalance/cost_model.h"
#include "optim/lr_schedule.h"

namespace strata::config {

enum class Division : uint8_t { kOpen, kClosed };
enum class SubmissionStatus : uint8_t { kOnprem, kCloud, kResearch };
enum class Precision : uint8_t { kAuto, kFp32, kBf16, kFp8, kFp16 };
enum class BalanceStrategy : uint8_t {
  kRandom,
  kExchange,
  kStratified,
  kStratifiedPresort,
  kPlanned
};
enum class AccumulationOrder : uint8_t { kMicroBatch, kLayer };
enum class ActivationPolicy : uint8_t { kKeep, kRecompute };
enum class OptimizerKind : uint8_t { kAdam, kLamb, kMadgrad, kAcClip, kSgd };
using PipelineKind = bert::Pipeline;
using NormKind = bert::Norm;
using StandardizationAxis = device::StandardizationAxis;
enum class TiedGradient : uint8_t { kSum, kAverage };
enum class Sharding : uint8_t { kNone, kState, kGradients, kAll };
using LrScheduleKind = optim::LrSchedule;
using ClipMode = comm::ClipMode;
enum class ReduceDType : uint8_t { kFp32, kBf16, kFp16 };
enum class ReduceAccumulation : uint8_t { kFp32, kBf16, kBf16Chunked };

// Return the name of a value in the YAML file.
const char* name_of(Division);
const char* name_of(SubmissionStatus);
const char* name_of(Precision);
const char* name_of(const device::BackendKind*);
const char* name_of(BalanceStrategy);
const char* name_of(AccumulationOrder);
const char* name_of(ActivationPolicy);
const char* name_of(PipelineKind);
const char* name_of(NormKind);
const char* name_of(StandardizationAxis);
const char* name_of(TiedGradient);
const char* name_of(OptimizerKind);
const char* name_of(Sharding);
const char* name_of(LrScheduleKind);
const char* name_of(ClipMode);
const char* name_of(ReduceDType);
const char* name_of(ReduceAccumulation);

struct SubmissionConfig {
  std::string organization = "Strata";
  std::optional<std::string> system;    // absent: named after the processor and the ranks
  std::optional<std::string> platform;  // absent: the system's name
  Division division = Division::kOpen;
  SubmissionStatus status = SubmissionStatus::kOnprem;
  std::filesystem::path output = "runs";
  int experiments = 1;
  std::optional<uint64_t> seed;  // absent: a new one from the system for every experiment
  double stall_seconds = 600;    // longest wait for other ranks; 0: unlimited
  std::string notes;
};

struct ModelConfig {
  std::string config;                               // a preset's name or an absolute path
  std::optional<std::filesystem::path> vocab;       // absent: not checked
  std::optional<std::filesystem::path> checkpoint;  // absent: random weights
  std::optional<double> hidden_dropout;             // absent: the model configuration's
  std::optional<double> attention_dropout;          // absent: the model configuration's
  Precision precision = Precision::kAuto;
  NormKind norm = NormKind::kPost;
};

// Layer dropping: Zhang & He, arXiv 2010.13369.
struct LayerDropConfig {
  double theta = 1;             // 1: drops none
  std::optional<double> gamma;  // absent: 100 / lr_schedule.training_steps
};

// Scaling of the loss with precision fp16: optim/loss_scale.h.
struct LossScaleConfig {
  double initial = 65536;  // a power of two
  int64_t growth_steps = 2000;
};

struct DeviceConfig {
  const device::BackendKind* backend = &device::find_backend("cpu");  // never null
  std::optional<int> threads;  // absent: the node's processors divided by its ranks
  bool graphs = false;
  device::OptionValues options;  // options of this backend only
};

struct DataConfig {
  std::vector<std::filesystem::path> train;  // files or directories
  std::vector<std::filesystem::path> eval;
  int64_t eval_samples = 0;       // 0: all
  std::optional<int> max_length;  // absent: the model's positions
  int max_predictions_per_seq = 76;
  std::optional<std::filesystem::path> shapes;  // absent: unknown before the run
  bool variable_length = false;                 // whether to read HDF5's variable-length rows
};

struct LoadBalanceConfig {
  BalanceStrategy strategy = BalanceStrategy::kStratified;
  std::vector<int> strata = {128, 256, 384, 512};  // upper ends in tokens, rising
  std::optional<int> group_ranks;  // absent: 8 for stratified+presort, all for planned
  loadbalance::CostModel cost;
};

struct BatchConfig {
  int micro_batch = 8;  // samples that a rank computes at once
  int gradient_accumulation_steps = 1;
  AccumulationOrder accumulation_order = AccumulationOrder::kMicroBatch;
  ActivationPolicy activations = ActivationPolicy::kKeep;
  int round_tokens = 1;
  LoadBalanceConfig load_balance;
};

// Ranks as stages of replicas: rank r is stage r % stages of replica r / stages.
struct ParallelConfig {
  int stages = 1;  // stages of a replica
  PipelineKind pipeline = PipelineKind::kModular;
};

// A value of OuroborosConfig::warmup_steps for benchmarks. No file can give it.
inline constexpr int64_t kNeverDelayed = std::numeric_limits<int64_t>::max();

// A ring of modules with delayed gradients: Yang et al., arXiv 1909.06695.
struct OuroborosConfig {
  int modules = 1;  // the ring has one rank less; 1: no ring
  int64_t warmup_steps = 0;
  TiedGradient tied = TiedGradient::kSum;
};

struct OptimizerConfig {
  OptimizerKind name = OptimizerKind::kAdam;
  double lr = 5e-4;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-6;
  double weight_decay = 0.01;
  double alpha = 1;  // only for acclip
  Sharding sharded = Sharding::kNone;
};

struct LrScheduleConfig {
  LrScheduleKind name = LrScheduleKind::kWarmupThenPolynomialDecay;
  int64_t warmup_steps = 20;
  int64_t start_warmup_step = 0;  // may be negative: the first step is then already warm
  int64_t training_steps = 1000;
  double end_lr = 0.0;
  double power = 1.0;
};

struct ClipConfig {
  ClipMode mode = ClipMode::kBucketBeforeAllReduce;
  double max_norm = 1.0;
};

struct ReduceConfig {
  ReduceDType dtype = ReduceDType::kFp32;
  ReduceAccumulation accumulate = ReduceAccumulation::kFp32;
  int chunk = 4;                   // ranks; only for kBf16Chunked
  double bucket_megabytes = 25.0;  // size in the reduced dtype, in 1e6 bytes
  bool split_tied_embedding = false;
  bool half_layers = false;
  std::optional<int> nccl_max_ctas;  // absent: NCCL's choice
};

struct TargetConfig {
  double masked_lm_accuracy = 0.72;
  std::optional<int64_t> eval_interval_samples;  // absent: MLPerf's formula
  int64_t start_eval_at_sample = 0;
  std::optional<int64_t> max_steps;  // absent: lr_schedule.training_steps
};

struct InitializationConfig {
  int warmup_steps = 2;
  bool clear_whole_cache = false;
};

// If both are 0 there are no checkpoints. If both are given, whichever comes first counts.
struct CheckpointConfig {
  int64_t every_steps = 0;
  double every_seconds = 0;

  bool enabled() const { return every_steps > 0 || every_seconds > 0; }
};

struct LogConfig {
  bool step_trace = false;
  bool tensorboard = false;
  int timeline_steps = 0;
  int loss_interval_steps = 1;
  bool save_checkpoint = false;
};

struct RunConfig {
  SubmissionConfig run;
  ModelConfig model;
  LayerDropConfig layer_drop;
  LossScaleConfig loss_scale;
  bert::Standardization standardization;
  DeviceConfig device;
  DataConfig data;
  BatchConfig batch;
  ParallelConfig parallel;
  OuroborosConfig ouroboros;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  ClipConfig clip;
  ReduceConfig reduce;
  TargetConfig target;
  InitializationConfig initialization;
  CheckpointConfig checkpoint;
  LogConfig log;
};

// Reads `path`, then applies `overrides` ("optimizer.lr=1e-3", values in YAML). Relative paths
// start from the file's directory, in overrides from the current one; all are absolute in the
// result. Throws Error naming file, line, key, value and reason for unknown keys (with the nearest
// known one), wrong types, values out of range, missing keys, and combinations that cannot run. The
// message has a line per error.
RunConfig load_run_config(const std::filesystem::path& path,
                          std::span<const std::string> overrides = {});

// Loads a file that to_yaml() wrote. Takes its paths as they are, even if they do not exist.
RunConfig load_resolved_config(const std::filesystem::path& path);

// Returns every key with its value, such that load_resolved_config reads back the same
// configuration.
std::string to_yaml(const RunConfig& config);
// Returns a line for every key whose values differ: "optimizer.lr: 0.1, now 0.2".
std::vector<std::string> differences(const RunConfig& before, const RunConfig& now);

// Returns docs/config.md: every key with its type, default and meaning, in Markdown.
std::string config_reference();

// Returns the samples in one optimizer step over all ranks.
int64_t global_batch_size(const RunConfig& config, int ranks);

// Returns how many ranks hold one copy of the model together.
int ranks_of_replica(const RunConfig& config);

// Returns the last step of a run that misses its target.
int64_t max_steps(const RunConfig& config);

// Returns the configured samples between evaluations, or else MLPerf's formula for the batch size.
int64_t eval_interval_samples(const RunConfig& config, int ranks);

// Returns the number of training samples at which the first evaluation after `samples` is due: a
// multiple of the interval, and at least target.start_eval_at_sample.
int64_t samples_at_next_evaluation(const RunConfig& config, int ranks, int64_t samples);

}  // namespace strata::config

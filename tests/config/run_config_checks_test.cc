#include "config/run_config_checks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <utility>

#include "device/registry/backends.h"
#include "plan/combinations.h"
#include "plan/layout_checks.h"
#include "tests/support/matchers.h"

namespace strata::config {
namespace {

std::string source_of(const std::string& key) { return "<" + key + ">"; }

// Returns the first conflict, or an empty text.
std::string conflict_of(const RunConfig& config) {
  const auto conflicts = conflicts_in(config, source_of);
  return conflicts.empty() ? "" : conflicts.front();
}

TEST(RunConfigChecks, TheDefaultsAgreeWithEachOther) { EXPECT_EQ(conflict_of({}), ""); }

using plan::Setting;
using enum Setting;

// Makes the smallest change for this setting. The backend supports everything.
void set(Setting setting, RunConfig& c) {
  switch (setting) {
    case kClosedDivision:
      c.run.division = Division::kClosed;
      break;
    case kStages:
      c.parallel.stages = 2;
      c.batch.gradient_accumulation_steps = 2;
      break;
    case kModules:
      c.ouroboros.modules = 3;
      break;
    case kAccumulation:
      c.batch.gradient_accumulation_steps = 2;
      break;
    case kLayerOrder:
      c.batch.accumulation_order = AccumulationOrder::kLayer;
      break;
    case kRecompute:
      c.batch.activations = ActivationPolicy::kRecompute;
      break;
    case kGraphs:
      c.device.graphs = true;
      break;
    case kFp8:
      c.model.precision = Precision::kFp8;
      break;
    case kFp16:
      c.model.precision = Precision::kFp16;
      break;
    case kOtherThanFp16:
      c.model.precision = Precision::kBf16;
      break;
    case kPreNorm:
    case kNoPostNorm:
    case kAnyNorm:
      c.model.norm = NormKind::kPre;
      break;
    case kNoPreNorm:
      c.model.norm = NormKind::kNone;
      break;
    case kLayerDrop:
      c.layer_drop.theta = 0.5;
      break;
    case kStandardization:
      c.standardization.weight = 0.5;
      break;
    case kClipRank:
      c.clip.mode = ClipMode::kBeforeAllReduce;
      break;
    case kClipBucket:
      c.clip.mode = ClipMode::kBucketBeforeAllReduce;
      break;
    case kSharded:
      c.optimizer.sharded = Sharding::kState;
      break;
    case kShardedGradients:
      c.optimizer.sharded = Sharding::kGradients;
      break;
    case kShardedWeights:
      c.optimizer.sharded = Sharding::kAll;
      break;
    case kReducedMicroBatches:
      c.optimizer.sharded = Sharding::kAll;
      c.batch.gradient_accumulation_steps = 2;
      break;
    case kSplitTiedEmbedding:
      c.reduce.split_tied_embedding = true;
      break;
    case kHalfLayers:
      c.reduce.half_layers = true;
      break;
    case kBf16Sums:
      c.reduce.accumulate = ReduceAccumulation::kBf16;
      c.reduce.dtype = ReduceDType::kBf16;
      break;
    case kSentOtherThanBf16:
      c.reduce.dtype = ReduceDType::kFp32;
      break;
    case kSentFp16:
      c.reduce.dtype = ReduceDType::kFp16;
      break;
    case kOtherThanLamb:
      c.optimizer.name = OptimizerKind::kAdam;
      break;
    case kCheckpoints:
      c.checkpoint.every_seconds = 5;
      break;
  }
}

// Returns a configuration without conflicts, apart from the closed division's own values.
RunConfig agreeable() {
  RunConfig config;
  config.device.backend = &device::find_backend("cuda");
  config.clip.mode = ClipMode::kAfterAllReduce;
  config.optimizer.name = OptimizerKind::kLamb;
  config.batch.round_tokens = 64;
  return config;
}

TEST(RunConfigChecks, EveryImpossibleCombinationIsRefusedByKeyReasonAndRemedy) {
  for (const plan::Combination& each : plan::impossible_combinations()) {
    RunConfig config = agreeable();
    set(each.refused, config);
    set(each.with, config);
    const auto conflicts = conflicts_in(config, source_of);
    EXPECT_THAT(conflicts,
                testing::Contains(testing::HasSubstr(": " + std::string(each.reason) + "; set ")))
        << static_cast<int>(each.refused) << " with " << static_cast<int>(each.with);
  }
}

TEST(RunConfigChecks, EverySettingCanBeChosen) {
  const std::map<Setting, Setting> needed = {
      {kStandardization, kNoPreNorm}, {kLayerDrop, kPreNorm}, {kSentFp16, kFp16}};
  for (int i = 0; i <= static_cast<int>(kCheckpoints); ++i) {
    const auto setting = static_cast<Setting>(i);
    RunConfig config = agreeable();
    set(setting, config);
    if (needed.contains(setting)) set(needed.at(setting), config);
    EXPECT_THAT(conflicts_in(config, source_of), testing::IsEmpty()) << i;
  }
}

struct Refused {
  std::vector<Setting> settings;
  std::string first;  // the first conflict
};

TEST(RunConfigChecks, ConflictsNameTheKeyThatIsAtFault) {
  const std::vector<Refused> cases = {
      {{kClosedDivision, kClipBucket},
       "<clip.mode>: clip.mode: bucket_before_allreduce is for the open division; set "
       "run.division to open, or set clip.mode to after_allreduce"},
      {{kStages, kLayerOrder},
       "<parallel.stages>: parallel.stages: a pipeline has its own order; set "
       "batch.accumulation_order to micro_batch, or set parallel.stages to 1"},
      {{kReducedMicroBatches, kClipBucket},
       "<optimizer.sharded>: optimizer.sharded: in micro_batch order sharded gradients are reduced "
       "after every micro-batch, but bucket_before_allreduce clips those of a whole step; set "
       "clip.mode to after_allreduce, or set batch.accumulation_order to layer or "
       "optimizer.sharded to state"},
      {{kReducedMicroBatches, kClipBucket, kLayerOrder}, ""},
      {{kShardedGradients, kClipBucket}, ""},
      {{kSharded, kAccumulation, kClipBucket}, ""},
      {{kSharded, kHalfLayers}, ""},
      {{kSharded, kGraphs}, ""},
      {{kShardedGradients, kFp8}, ""},
      {{kStages, kSharded}, ""},
      {{kClosedDivision, kFp16}, ""},
      {{kRecompute, kLayerOrder}, ""},
      {{kSentFp16, kFp16}, ""},
      {{kNoPreNorm, kStandardization, kFp8}, ""},
      {{kModules, kClipRank}, ""}};
  for (const auto& [settings, first] : cases) {
    RunConfig config = agreeable();
    for (const Setting setting : settings) set(setting, config);
    EXPECT_EQ(conflict_of(config), first);
  }
}

TEST(RunConfigChecks, AllConflictsAreNamed) {
  RunConfig config;
  config.run.division = Division::kClosed;
  config.lr_schedule.warmup_steps = config.lr_schedule.training_steps;
  std::string keys;
  for (const std::string& conflict : conflicts_in(config, source_of)) {
    keys += conflict.substr(0, conflict.find(':')) + " ";
  }
  EXPECT_EQ(keys, "<clip.mode> <optimizer.name> <lr_schedule.training_steps> ");
}

// The planner refuses a layout exactly if its configuration is refused.
TEST(RunConfigChecks, ThePlannerRefusesTheSameLayouts) {
  int refused = 0;
  for (int bits = 0; bits < 2 * 2 * 4 * 4 * 2 * 2; ++bits) {
    int rest = bits;
    const auto next = [&](int values) { return std::exchange(rest, rest / values) % values; };
    RunConfig config;
    config.parallel.stages = next(2) + 1;
    config.batch.accumulation_order = static_cast<AccumulationOrder>(next(2));
    config.optimizer.sharded = static_cast<Sharding>(next(4));
    const int clip = next(4);
    config.clip.mode =
        std::array{ClipMode::kNone, ClipMode::kAfterAllReduce, ClipMode::kBeforeAllReduce,
                   ClipMode::kBucketBeforeAllReduce}[static_cast<size_t>(clip)];
    config.reduce.split_tied_embedding = next(2) == 1;
    config.batch.gradient_accumulation_steps = next(2) + 1;
    const plan::Layout layout{.stages = config.parallel.stages,
                              .micro_batches = config.batch.gradient_accumulation_steps,
                              .order = static_cast<plan::Order>(config.batch.accumulation_order),
                              .sharding = static_cast<plan::Sharding>(config.optimizer.sharded),
                              .clip = static_cast<plan::Clip>(clip),
                              .split_tied_embedding = config.reduce.split_tied_embedding};
    const auto refusal = plan::refusal({}, 8, 64, layout);
    EXPECT_EQ(refusal.has_value(), !conflict_of(config).empty())
        << refusal.value_or("not refused") << "\n"
        << conflict_of(config);
    refused += refusal.has_value();
  }
  EXPECT_GT(refused, 50);
}

TEST(RunConfigChecks, OrdersThatKeepAllMicroBatchesLimitTheirNumber) {
  RunConfig config;
  config.batch.accumulation_order = AccumulationOrder::kLayer;
  config.batch.gradient_accumulation_steps = 1024;
  EXPECT_EQ(conflict_of(config), "");
  config.batch.gradient_accumulation_steps = 1025;
  EXPECT_EQ(conflict_of(config),
            "<batch.gradient_accumulation_steps>: batch.gradient_accumulation_steps: layer order "
            "and pipelines have all 1025 micro-batches in memory at once; use at most 1024, or "
            "accumulation_order micro_batch and 1 stage");
}

TEST(RunConfigChecks, StagesNeedAsManyMicroBatches) {
  RunConfig config;
  config.parallel.stages = 4;
  config.batch.gradient_accumulation_steps = 4;
  EXPECT_EQ(conflict_of(config), "");
  config.batch.gradient_accumulation_steps = 3;
  EXPECT_EQ(conflict_of(config),
            "<parallel.stages>: parallel.stages: 4 stages need as many micro-batches in flight, "
            "but batch.gradient_accumulation_steps is 3; raise it, or use fewer stages");
}

TEST(RunConfigChecks, AWarmUpThatStartsAfterTheFirstStepIsRefused) {
  RunConfig config;
  config.lr_schedule.start_warmup_step = 1;
  EXPECT_EQ(conflict_of(config), "");
  config.lr_schedule.start_warmup_step = 3;
  EXPECT_EQ(
      conflict_of(config),
      "<lr_schedule.start_warmup_step>: lr_schedule.start_warmup_step: 3 is after the first step, "
      "so the first learning rates would be negative; with lr_schedule.name "
      "warmup_then_polynomial_decay use at most 1");
  config.lr_schedule.name = LrScheduleKind::kPolynomialDecay;
  config.lr_schedule.start_warmup_step = 1;
  EXPECT_EQ(
      conflict_of(config),
      "<lr_schedule.start_warmup_step>: lr_schedule.start_warmup_step: 1 is after the first step, "
      "so the first learning rates would be negative; with lr_schedule.name polynomial_decay "
      "use at most 0");
  config.lr_schedule.start_warmup_step = -16;
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, TheClosedDivisionHasMlperfsTarget) {
  RunConfig config;
  config.run.division = Division::kClosed;
  config.clip.mode = ClipMode::kAfterAllReduce;
  config.optimizer.name = OptimizerKind::kLamb;
  config.target.masked_lm_accuracy = 0.3;
  EXPECT_EQ(conflict_of(config),
            "<target.masked_lm_accuracy>: target.masked_lm_accuracy: the closed division needs at "
            "least 0.72, not 0.3; set run.division to open for another target");
}

TEST(RunConfigChecks, TheReferenceBackendHasNoBf16) {
  RunConfig config;
  config.device.backend = &device::find_backend("reference");
  EXPECT_EQ(conflict_of(config), "");
  config.model.precision = Precision::kBf16;
  EXPECT_EQ(conflict_of(config),
            "<model.precision>: model.precision: device.backend reference computes in f64, not in "
            "bf16; use auto");
}

TEST(RunConfigChecks, OnlyGpusCaptureGraphs) {
  RunConfig config;
  config.device.graphs = true;
  EXPECT_EQ(conflict_of(config),
            "<device.graphs>: device.graphs: the cpu backend cannot capture graphs; use cuda, or "
            "set device.graphs to false");
  config.device.backend = &device::find_backend("cuda");
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, OptionsMustBelongToTheBackend) {
  RunConfig config;
  config.device.options = {{"epilogues", "never"}};
  EXPECT_EQ(conflict_of(config),
            "<device.options>: device.options: the cpu backend has no option epilogues; it has "
            "none at all");
  config.device.backend = &device::find_backend("cuda");
  EXPECT_EQ(conflict_of(config), "");
  config.device.options = {{"attention", "mma"}, {"epilogue", "never"}};
  EXPECT_EQ(conflict_of(config),
            "<device.options>: device.options: the cuda backend has no option epilogue; it has "
            "attention, epilogues, communication_multiprocessors");
  config.device.options = {{"attention", "flash"}};
  EXPECT_EQ(conflict_of(config),
            "<device.options>: device.options: flash is not a value of attention; choose one of "
            "fastest, plain, mma, wgmma, cudnn");
  for (const char* number : {"0", "16", "64"}) {
    config.device.options = {{"communication_multiprocessors", number}};
    EXPECT_EQ(conflict_of(config), "") << number;
  }
  for (const char* number : {"65", "-1", "8x", "some", "99999999999999999999"}) {
    config.device.options = {{"communication_multiprocessors", number}};
    EXPECT_EQ(conflict_of(config),
              fmt::format("<device.options>: device.options: communication_multiprocessors: {} is "
                          "not a whole number from 0 to 64",
                          number));
  }
}

TEST(RunConfigChecks, GpusMultiplySixteenTokensAtATimeInFloat8) {
  RunConfig config;
  config.model.precision = Precision::kFp8;
  EXPECT_EQ(conflict_of(config), "") << "the processor takes any number";
  config.device.backend = &device::find_backend("cuda");
  EXPECT_EQ(conflict_of(config),
            "<batch.round_tokens>: batch.round_tokens: 1 is not a multiple of 16, which "
            "model.precision fp8 needs on cuda; use 64");
  config.batch.round_tokens = 48;
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, Fp16IsForBackendsThatHaveIt) {
  RunConfig config;
  config.model.precision = Precision::kFp16;
  EXPECT_EQ(conflict_of(config), "");
  config.device.backend = &device::find_backend("cuda");
  EXPECT_EQ(conflict_of(config), "");
  config.device.backend = &device::find_backend("sample");
  EXPECT_EQ(conflict_of(config),
            "<model.precision>: model.precision: device.backend sample computes in f32, not in "
            "fp16; use auto");
  config.device.backend = &device::find_backend("reference");
  EXPECT_EQ(conflict_of(config),
            "<model.precision>: model.precision: device.backend reference computes in f64, not in "
            "fp16; use auto");
}

TEST(RunConfigChecks, Fp16IsForBothDivisions) {
  RunConfig config;
  config.model.precision = Precision::kFp16;
  config.run.division = Division::kClosed;
  config.clip.mode = ClipMode::kAfterAllReduce;
  config.optimizer.name = OptimizerKind::kLamb;
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, TheLossIsScaledByAPowerOfTwo) {
  RunConfig config;
  for (const double initial : {1.0, 2.0, 1024.0, 16777216.0}) {
    config.loss_scale.initial = initial;
    EXPECT_EQ(conflict_of(config), "") << initial;
  }
  for (const double initial : {1.5, 3.0, 65535.0, 100000.0}) {
    config.loss_scale.initial = initial;
    EXPECT_THAT(conflict_of(config), HasSubstr("is not a power of two")) << initial;
  }
}

TEST(RunConfigChecks, OnlyStrategiesThatShareSamplesHaveGroups) {
  RunConfig config;
  config.batch.load_balance.group_ranks = 4;
  EXPECT_EQ(conflict_of(config),
            "<batch.load_balance.group_ranks>: batch.load_balance.group_ranks: strategy stratified "
            "has no groups of ranks; use stratified+presort or planned, or leave group_ranks at "
            "auto");
  for (const auto strategy : {BalanceStrategy::kStratifiedPresort, BalanceStrategy::kPlanned}) {
    config.batch.load_balance.strategy = strategy;
    EXPECT_EQ(conflict_of(config), "");
  }
}

TEST(RunConfigChecks, TheLearningRateNeverRisesAfterTheWarmUp) {
  RunConfig config;
  config.lr_schedule.end_lr = 1;
  EXPECT_EQ(
      conflict_of(config),
      "<lr_schedule.end_lr>: lr_schedule.end_lr: 1 is above optimizer.lr (0.0005), so the rate "
      "would rise; lower it");
}

TEST(RunConfigChecks, TheWarmUpEndsBeforeTheTraining) {
  RunConfig config;
  config.lr_schedule.warmup_steps = config.lr_schedule.training_steps;
  EXPECT_EQ(conflict_of(config),
            "<lr_schedule.training_steps>: lr_schedule.training_steps: 1000 leaves no step after "
            "lr_schedule.warmup_steps (1000); raise it");
}

}  // namespace
}  // namespace strata::config

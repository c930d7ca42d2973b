#include "config/run_config_checks.h"

#include <gtest/gtest.h>

#include "device/registry/backends.h"

namespace strata::config {
namespace {

std::string source_of(const std::string& key) { return "<" + key + ">"; }

// The first; empty where there is none.
std::string conflict_of(const RunConfig& config) {
  const auto conflicts = conflicts_in(config, source_of);
  return conflicts.empty() ? "" : conflicts.front();
}

TEST(RunConfigChecks, TheDefaultsAgreeWithEachOther) { EXPECT_EQ(conflict_of({}), ""); }

TEST(RunConfigChecks, AllConflictsAreNamed) {
  RunConfig config;
  config.run.division = Division::kClosed;
  config.schedule.warmup_steps = config.schedule.training_steps;
  std::string keys;
  for (const std::string& conflict : conflicts_in(config, source_of)) {
    keys += conflict.substr(0, conflict.find(':')) + " ";
  }
  EXPECT_EQ(keys, "<clip.mode> <optimizer.name> <schedule.training_steps> ");
}

TEST(RunConfigChecks, TheClosedDivisionClipsAsTheReferenceDoes) {
  RunConfig config;
  config.run.division = Division::kClosed;
  EXPECT_EQ(conflict_of(config),
            "<clip.mode>: clip.mode: bucket_before_allreduce is for the open division "
            "(run.division is closed); use after_allreduce");
  config.clip.mode = ClipMode::kAfterAllReduce;
  config.optimizer.name = OptimizerKind::kLamb;
  EXPECT_EQ(conflict_of(config), "");
  config.batch.accumulation_order = AccumulationOrder::kLayer;
  EXPECT_EQ(conflict_of(config),
            "<batch.accumulation_order>: batch.accumulation_order: layer is for the open division "
            "(run.division is closed); use micro_batch");
}

TEST(RunConfigChecks, AWarmUpThatStartsAfterTheFirstStepIsRefused) {
  RunConfig config;
  config.schedule.start_warmup_step = 1;
  EXPECT_EQ(conflict_of(config), "");
  config.schedule.start_warmup_step = 3;
  EXPECT_EQ(conflict_of(config),
            "<schedule.start_warmup_step>: schedule.start_warmup_step: 3 is after the first step, "
            "so the first learning rates would be negative; with schedule.name "
            "warmup_then_polynomial_decay use at most 1");
  config.schedule.name = ScheduleKind::kPolynomialDecay;
  config.schedule.start_warmup_step = 1;
  EXPECT_EQ(conflict_of(config),
            "<schedule.start_warmup_step>: schedule.start_warmup_step: 1 is after the first step, "
            "so the first learning rates would be negative; with schedule.name polynomial_decay "
            "use at most 0");
  config.schedule.start_warmup_step = -16;
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, OrdersOfWorkThatCannotBeCombinedAreRefused) {
  RunConfig config;
  config.batch.accumulation_order = AccumulationOrder::kLayer;
  config.batch.activations = ActivationPolicy::kRecompute;
  EXPECT_EQ(conflict_of(config), "");
  config.device.backend = &device::find_backend("cuda");
  config.device.graphs = true;
  EXPECT_EQ(conflict_of(config),
            "<batch.accumulation_order>: batch.accumulation_order: layer begins to reduce in the "
            "middle of a step, which no graph can hold; set device.graphs to false, or use "
            "micro_batch");
  config = {};
  config.batch.accumulation_order = AccumulationOrder::kLayer;
  config.batch.gradient_accumulation_steps = 1024;
  EXPECT_EQ(conflict_of(config), "");
  config.batch.gradient_accumulation_steps = 1025;
  EXPECT_EQ(conflict_of(config),
            "<batch.gradient_accumulation_steps>: batch.gradient_accumulation_steps: layer order "
            "and pipelines have all 1025 micro-batches in memory at once; use at most 1024, or "
            "accumulation_order micro_batch and 1 stage");
  config = {};
  config.batch.activations = ActivationPolicy::kRecompute;
  config.model.precision = Precision::kFp8;
  config.batch.round_tokens = 64;
  EXPECT_EQ(conflict_of(config),
            "<batch.activations>: batch.activations: recompute is not built for model.precision "
            "fp8, whose copies of activations are kept; use keep, or bf16");
}

TEST(RunConfigChecks, TheStandardizationLossIsOfModelsWithoutLayerNorm) {
  RunConfig config;
  config.model.norm = NormKind::kNone;
  EXPECT_EQ(conflict_of(config), "");
  config.standardization.weight = 0.5;
  EXPECT_EQ(conflict_of(config), "");
  config.model.precision = Precision::kFp8;
  config.batch.round_tokens = 64;
  EXPECT_EQ(conflict_of(config), "");
  config.run.division = Division::kClosed;
  EXPECT_EQ(conflict_of(config),
            "<model.norm>: model.norm: none is for the open division (run.division is closed); use "
            "post");
  config = {};
  config.standardization.weight = 0.5;
  EXPECT_EQ(conflict_of(config),
            "<standardization.weight>: standardization.weight: the loss stands in for LayerNorm, "
            "which model.norm post has; set model.norm to none, or weight to 0");
  config.model.norm = NormKind::kPre;
  EXPECT_EQ(conflict_of(config),
            "<standardization.weight>: standardization.weight: the loss stands in for LayerNorm, "
            "which model.norm pre has; set model.norm to none, or weight to 0");
}

TEST(RunConfigChecks, EarlyWordsNeedGradientsThatAreReducedWhole) {
  RunConfig config;
  config.reduce.early_words = true;
  EXPECT_EQ(conflict_of(config),
            "<reduce.early_words>: reduce.early_words: a rank's own gradient is clipped before "
            "it is reduced; set clip.mode to after_allreduce or none, or "
            "early_words to false");
  config.clip.mode = ClipMode::kAfterAllReduce;
  EXPECT_EQ(conflict_of(config), "");
  config.parallel.stages = 2;
  config.batch.gradient_accumulation_steps = 2;
  EXPECT_EQ(conflict_of(config),
            "<reduce.early_words>: reduce.early_words: it is not built for parallel.stages; set "
            "early_words to false, or use 1 stage");
  config.parallel.stages = 1;
  config.optimizer.sharded = Sharding::kState;
  EXPECT_EQ(conflict_of(config),
            "<reduce.early_words>: reduce.early_words: it is not built for optimizer.sharded; set "
            "early_words to false, or sharded to none");
}

TEST(RunConfigChecks, HalvesOfLayersNeedGradientsThatAreNotSharded) {
  RunConfig config;
  config.reduce.half_layers = true;
  for (const auto allowed : {Sharding::kNone, Sharding::kState}) {
    config.optimizer.sharded = allowed;
    EXPECT_EQ(conflict_of(config), "") << name_of(allowed);
  }
  for (const auto refused : {Sharding::kGradients, Sharding::kAll}) {
    config.optimizer.sharded = refused;
    EXPECT_EQ(conflict_of(config),
              "<reduce.half_layers>: reduce.half_layers: layers whose gradients are sharded take "
              "turns in memory as wholes; set half_layers to false, or optimizer.sharded to state "
              "or none")
        << name_of(refused);
  }
}

TEST(RunConfigChecks, SumsInBf16NeedGradientsThatAreSentSo) {
  RunConfig config;
  config.reduce.accumulate = ReduceAccumulation::kBf16Chunked;
  EXPECT_EQ(conflict_of(config),
            "<reduce.accumulate>: reduce.accumulate: what is added up in bf16 is sent in bf16; set "
            "reduce.dtype to bf16, or accumulate to fp32");
  config.reduce.dtype = ReduceDType::kBf16;
  EXPECT_EQ(conflict_of(config), "");
  config.run.division = Division::kClosed;
  config.optimizer.name = OptimizerKind::kLamb;
  config.clip.mode = ClipMode::kAfterAllReduce;
  EXPECT_EQ(conflict_of(config),
            "<reduce.accumulate>: reduce.accumulate: sums in bf16 are for the open division "
            "(run.division is closed); use fp32");
}

TEST(RunConfigChecks, WhatStagesCannotDoIsRefused) {
  RunConfig pipeline;
  pipeline.parallel.stages = 4;
  pipeline.batch.gradient_accumulation_steps = 4;
  EXPECT_EQ(conflict_of(pipeline), "");
  const auto conflict_with = [&](const auto& change) {
    RunConfig config = pipeline;
    change(config);
    return conflict_of(config);
  };
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.batch.gradient_accumulation_steps = 3; }),
            "<parallel.stages>: parallel.stages: 4 stages need as many micro-batches under way, "
            "batch.gradient_accumulation_steps is 3; raise it, or use fewer stages");
  EXPECT_EQ(conflict_with([](RunConfig& c) {
              c.run.division = Division::kClosed;
              c.clip.mode = ClipMode::kAfterAllReduce;
              c.optimizer.name = OptimizerKind::kLamb;
            }),
            "<parallel.stages>: parallel.stages: a pipeline is for the open division "
            "(run.division is closed); use 1");
  EXPECT_EQ(
      conflict_with([](RunConfig& c) { c.batch.accumulation_order = AccumulationOrder::kLayer; }),
      "<parallel.stages>: parallel.stages: a pipeline has an order of its own "
      "(batch.accumulation_order is layer); use micro_batch, or 1 stage");
  EXPECT_EQ(conflict_with([](RunConfig& c) {
              c.device.backend = &device::find_backend("cuda");
              c.device.graphs = true;
            }),
            "<parallel.stages>: parallel.stages: what stages send each other is in the middle of a "
            "step, which no graph can hold; set device.graphs to false, or use 1 stage");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.model.precision = Precision::kFp8; }),
            "<parallel.stages>: parallel.stages: what stages send each other has no copy in FP8, "
            "which a layer's first GEMM reads; use model.precision bf16, or 1 stage");
  EXPECT_EQ(conflict_with([](RunConfig& c) {
              c.optimizer.sharded = Sharding::kGradients;
              c.batch.accumulation_order = AccumulationOrder::kMicroBatch;
              c.clip.mode = ClipMode::kAfterAllReduce;
            }),
            "<parallel.stages>: parallel.stages: shards of gradients and weights are not built for "
            "a part of the model; set optimizer.sharded to state or none, or use 1 stage");
}

TEST(RunConfigChecks, WhatDelayedModulesCannotDoIsRefused) {
  RunConfig modules;
  modules.ouroboros.modules = 3;
  modules.clip.mode = ClipMode::kAfterAllReduce;
  for (const ClipMode mode :
       {ClipMode::kNone, ClipMode::kBeforeAllReduce, ClipMode::kAfterAllReduce}) {
    modules.clip.mode = mode;
    EXPECT_EQ(conflict_of(modules), "");
  }
  const auto conflict_with = [&](const auto& change) {
    RunConfig config = modules;
    change(config);
    return conflict_of(config);
  };
  const std::string key = "<ouroboros.modules>: ouroboros.modules: ";
  EXPECT_EQ(conflict_with([](RunConfig& c) {
              c.run.division = Division::kClosed;
              c.optimizer.name = OptimizerKind::kLamb;
            }),
            key + "delayed gradients are for the open division (run.division is closed); use 1");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.batch.gradient_accumulation_steps = 2; }),
            key +
                "modules go back with one micro-batch a step; set "
                "batch.gradient_accumulation_steps to 1, or use 1 module");
  EXPECT_EQ(
      conflict_with([](RunConfig& c) { c.batch.accumulation_order = AccumulationOrder::kLayer; }),
      key +
          "modules have an order of their own (batch.accumulation_order is layer); use "
          "micro_batch, or 1 module");
  EXPECT_EQ(
      conflict_with([](RunConfig& c) { c.batch.activations = ActivationPolicy::kRecompute; }),
      key +
          "what a delayed backward reads is kept; set batch.activations to keep, or use 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.parallel.stages = 2; }),
            key +
                "modules are a division of the model among ranks already; set "
                "parallel.stages to 1, or use 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) {
              c.device.backend = &device::find_backend("cuda");
              c.device.graphs = true;
            }),
            key +
                "what modules send each other is in the middle of a step, which no graph can "
                "hold; set device.graphs to false, or use 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.optimizer.sharded = Sharding::kState; }),
            key +
                "a module is on one rank, which shares it with none; set optimizer.sharded to "
                "none, or use 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.clip.mode = ClipMode::kBucketBeforeAllReduce; }),
            key +
                "a step's buckets have gradients of different steps, so their norms make no "
                "bound of one gradient (clip.mode is bucket_before_allreduce); use "
                "after_allreduce or none, or 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.model.precision = Precision::kFp8; }),
            key +
                "scales in FP8 are those of a step, but backward comes steps later; use "
                "model.precision bf16, or 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.reduce.early_words = true; }),
            key +
                "nothing is reduced, so nothing can be early; set reduce.early_words to false, "
                "or use 1 module");
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.reduce.half_layers = true; }),
            key +
                "nothing is reduced, so nothing can be early; set reduce.half_layers to false, "
                "or use 1 module");
  const std::string checkpoints =
      key +
      "what is in flight between steps is in no checkpoint; set checkpoint.every_steps and "
      "checkpoint.every_seconds to 0, or use 1 module";
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.checkpoint.every_steps = 5; }), checkpoints);
  EXPECT_EQ(conflict_with([](RunConfig& c) { c.checkpoint.every_seconds = 5; }), checkpoints);
}

TEST(RunConfigChecks, WhatShardingCannotBeCombinedWithIsRefused) {
  RunConfig config;
  const auto refused = [&](Sharding sharded) {
    config.optimizer.sharded = sharded;
    return conflict_of(config);
  };
  config.clip.mode = ClipMode::kBeforeAllReduce;
  EXPECT_EQ(refused(Sharding::kState), "");
  EXPECT_EQ(
      refused(Sharding::kGradients),
      "<optimizer.sharded>: optimizer.sharded: gradients reduces gradients before a rank has "
      "all of its own, whose norm clip.mode before_allreduce needs; use another clip.mode, or "
      "state");
  EXPECT_NE(refused(Sharding::kAll), "");

  config.clip.mode = ClipMode::kBucketBeforeAllReduce;
  EXPECT_EQ(refused(Sharding::kAll), "");
  config.batch.gradient_accumulation_steps = 2;
  EXPECT_EQ(refused(Sharding::kState), "");
  EXPECT_EQ(
      refused(Sharding::kAll),
      "<optimizer.sharded>: optimizer.sharded: all reduces every micro-batch's gradients, but "
      "clip.mode bucket_before_allreduce clips a step's; set batch.accumulation_order to "
      "layer, or use clip.mode after_allreduce");
  EXPECT_NE(refused(Sharding::kGradients), "");
  config.batch.accumulation_order = AccumulationOrder::kLayer;
  EXPECT_EQ(refused(Sharding::kAll), "");

  config = {};
  config.device.backend = &device::find_backend("cuda");
  config.device.graphs = true;
  EXPECT_EQ(refused(Sharding::kState), "");
  EXPECT_EQ(
      refused(Sharding::kGradients),
      "<optimizer.sharded>: optimizer.sharded: gradients waits for reductions in the middle of "
      "a step, which no graph can hold; set device.graphs to false, or use state");
  EXPECT_NE(refused(Sharding::kAll), "");

  config = {};
  config.model.precision = Precision::kFp8;
  config.batch.round_tokens = 64;
  EXPECT_EQ(refused(Sharding::kGradients), "");
  EXPECT_EQ(
      refused(Sharding::kAll),
      "<optimizer.sharded>: optimizer.sharded: all is not built for model.precision fp8, whose "
      "copies of weights are kept; use gradients, or bf16");
}

TEST(RunConfigChecks, TheClosedDivisionHasMlperfsTarget) {
  RunConfig config;
  config.run.division = Division::kClosed;
  config.clip.mode = ClipMode::kAfterAllReduce;
  config.target.masked_lm_accuracy = 0.3;
  EXPECT_EQ(conflict_of(config),
            "<target.masked_lm_accuracy>: target.masked_lm_accuracy: the closed division asks for "
            "at least 0.72, not 0.3; set run.division to open for another target");
}

TEST(RunConfigChecks, TheClosedDivisionUpdatesWithLamb) {
  RunConfig config;
  config.run.division = Division::kClosed;
  config.clip.mode = ClipMode::kAfterAllReduce;
  EXPECT_EQ(conflict_of(config),
            "<optimizer.name>: optimizer.name: the closed division updates with lamb, not adam; "
            "set run.division to open for another optimizer");
  config.optimizer.name = OptimizerKind::kLamb;
  EXPECT_EQ(conflict_of(config), "");
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
  EXPECT_EQ(
      conflict_of(config),
      "<device.graphs>: device.graphs: the cpu backend captures no graphs; use cuda or false");
  config.device.backend = &device::find_backend("cuda");
  EXPECT_EQ(conflict_of(config), "");
}

TEST(RunConfigChecks, OptionsAreTheBackendsOwn) {
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
            "<device.options>: device.options: flash is none of the values of attention: fastest, "
            "plain, mma, wgmma, cudnn");
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
            "<batch.round_tokens>: batch.round_tokens: 1 is not a multiple of 16, as "
            "model.precision fp8 needs on cuda; 64 is good for it");
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

TEST(RunConfigChecks, StepsThatFp16MaySkipAreNoGraphsAndHaveNoDelay) {
  RunConfig config;
  config.model.precision = Precision::kFp16;
  config.device.backend = &device::find_backend("cuda");
  config.device.graphs = true;
  EXPECT_EQ(conflict_of(config),
            "<device.graphs>: device.graphs: with model.precision fp16 the host decides in a step "
            "whether it is skipped, which no graph can; use false, or bf16");
  config.device.graphs = false;
  config.ouroboros.modules = 3;
  config.clip.mode = ClipMode::kAfterAllReduce;
  EXPECT_EQ(conflict_of(config),
            "<ouroboros.modules>: ouroboros.modules: gradients of a step that fp16 skips would "
            "still be on their way in the steps after it; use model.precision bf16, or 1 module");
}

TEST(RunConfigChecks, OnlyScaledGradientsAreSentInFp16) {
  RunConfig config;
  config.reduce.dtype = ReduceDType::kFp16;
  for (const Precision precision : {Precision::kAuto, Precision::kBf16, Precision::kFp32}) {
    config.model.precision = precision;
    EXPECT_EQ(conflict_of(config),
              "<reduce.dtype>: reduce.dtype: what is sent in fp16 is scaled, as model.precision "
              "fp16 does; use bf16, or that precision");
  }
  config.model.precision = Precision::kFp16;
  EXPECT_EQ(conflict_of(config), "");
  config.reduce.dtype = ReduceDType::kBf16;
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
    EXPECT_NE(conflict_of(config).find("is no power of two"), std::string::npos) << initial;
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
  config.schedule.end_lr = 1;
  EXPECT_EQ(conflict_of(config),
            "<schedule.end_lr>: schedule.end_lr: 1 is above optimizer.lr, 0.0005; the rate would "
            "rise");
}

TEST(RunConfigChecks, TheWarmUpEndsBeforeTheTraining) {
  RunConfig config;
  config.schedule.warmup_steps = config.schedule.training_steps;
  EXPECT_EQ(conflict_of(config),
            "<schedule.training_steps>: schedule.training_steps: 1000 leaves no step after "
            "schedule.warmup_steps, 1000");
}

}  // namespace
}  // namespace strata::config

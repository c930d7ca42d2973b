// How `strata plan` is told the model and the layout of ranks.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>

#include "base/files.h"
#include "plan/model_shape.h"
#include "plan/step_time.h"

namespace strata::cli {

struct PlanLayoutOptions {
  std::string model;  // a config.json; empty: BERT-large
  double mean_tokens = 0;
  plan::Layout layout;
  std::string clip{plan::name_of(plan::Clip::kBucketBeforeAllReduce)},
      order = "micro_batch", sharded = "none", activations = "keep", pipeline = "modular";

  plan::ModelShape shape() const {
    constexpr uint64_t kMostBytes = 1 << 20;
    plan::ModelShape shape;
    if (!model.empty()) shape = plan::parse_model_shape(read_file(model, kMostBytes), model);
    if (mean_tokens > 0) shape.mean_tokens = mean_tokens;
    return shape;
  }
  plan::Layout chosen() const {
    plan::Layout result = layout;
    for (const auto each : {plan::Clip::kNone, plan::Clip::kAfterAllReduce,
                            plan::Clip::kBeforeAllReduce, plan::Clip::kBucketBeforeAllReduce}) {
      if (clip == plan::name_of(each)) result.clip = each;
    }
    for (const auto each : {plan::Sharding::kNone, plan::Sharding::kState,
                            plan::Sharding::kGradients, plan::Sharding::kAll}) {
      if (sharded == plan::name_of(each)) result.sharding = each;
    }
    if (order == plan::name_of(plan::Order::kLayer)) result.order = plan::Order::kLayer;
    result.recompute = activations == "recompute";
    result.modular = result.stages > 1 && pipeline == "modular";
    return result;
  }
};

// `options` outlives the parsing.
inline void add_layout_options(CLI::App& command, PlanLayoutOptions& options) {
  command
      .add_option("--model", options.model,
                  "The model's config.json, as Hugging Face's BERT has it (default: BERT-large)")
      ->type_name("FILE");
  command
      .add_option("--sample-tokens", options.mean_tokens,
                  "Tokens of a sample, the mean (default: those of MLPerf's Wikipedia)")
      ->check(CLI::Range(1.0, 1e6));
  command
      .add_option("--accumulation", options.layout.micro_batches,
                  "Micro-batches that a step is cut into")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  const auto add = [&](const char* name, std::string& value, std::vector<std::string> values,
                       const char* help) {
    command.add_option(name, value, help)
        ->check(CLI::IsMember(std::move(values)))
        ->capture_default_str();
  };
  add("--clip", options.clip,
      {"none", "after_allreduce", "before_allreduce", "bucket_before_allreduce"},
      "clip.mode: when what is clipped can be sent. Counts with --network");
  add("--order", options.order, {"micro_batch", "layer"}, "batch.accumulation_order");
  add("--activations", options.activations, {"keep", "recompute"},
      "batch.activations: recompute goes forward once more");
  add("--sharded", options.sharded, {"none", "state", "gradients", "all"}, "optimizer.sharded");
  command
      .add_option("--stages", options.layout.stages, "parallel.stages: ranks that share a model")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  add("--pipeline", options.pipeline, {"contiguous", "modular"}, "parallel.pipeline");
  command.add_flag("--early-words", options.layout.early_words,
                   "reduce.early_words. Words are counted as if drawn evenly: at most so many");
}

}  // namespace strata::cli

// The options of `strata plan` for the model and the layout of ranks.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/files/files.h"
#include "base/text/counts.h"
#include "plan/model_shape.h"
#include "plan/step_time.h"

namespace strata::cli {

inline constexpr plan::Clip kClips[] = {plan::Clip::kNone, plan::Clip::kAfterAllReduce,
                                        plan::Clip::kBeforeAllReduce,
                                        plan::Clip::kBucketBeforeAllReduce};
inline constexpr plan::Order kOrders[] = {plan::Order::kMicroBatch, plan::Order::kLayer};
inline constexpr plan::Sharding kShardings[] = {plan::Sharding::kNone, plan::Sharding::kState,
                                                plan::Sharding::kGradients, plan::Sharding::kAll};

// CLI::Range would accept "nan" as any number.
inline CLI::Validator number_within(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text, value);
        return is_number && value >= least && value <= most
                   ? std::string()
                   : fmt::format("Value {} not in range {} to {}", text, count_text(least),
                                 count_text(most));
      },
      fmt::format("NUMBER in [{} - {}]", count_text(least), count_text(most)));
}

// Accepts a number followed by one of the units, and multiplies it by the unit's factor. If
// `may_lack_unit`, a number alone stays as it is.
inline CLI::Validator number_with_unit(std::vector<std::pair<std::string, double>> units,
                                       double least, double most, bool may_lack_unit) {
  std::string names;
  for (const auto& [name, ignored] : units) names += (names.empty() ? "" : ", ") + name;
  return CLI::Validator(
      [=](std::string& text) {
        const size_t digits = text.find_last_of("0123456789.") + 1;
        const std::string unit = text.substr(digits);
        const auto found =
            std::ranges::find(units, unit, [](const auto& each) { return each.first; });
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text.substr(0, digits), value);
        const double factor = found != units.end()            ? found->second
                              : unit.empty() && may_lack_unit ? 1.0
                                                              : 0.0;
        if (!is_number || factor == 0 || !(value * factor >= least && value * factor <= most)) {
          return fmt::format("Value {} is not a number in {} from {} to {}", text, names,
                             count_text(least), count_text(most));
        }
        text = fmt::format("{}", value * factor);
        return std::string();
      },
      "NUMBER in " + names);
}

template <typename Value, size_t N>
std::vector<std::string> names_of(const Value (&values)[N]) {
  std::vector<std::string> names;
  for (const Value value : values) names.emplace_back(plan::name_of(value));
  return names;
}
// Returns the element of `values` with this name.
template <typename Value, size_t N>
Value value_of(const Value (&values)[N], const std::string& name) {
  return *std::ranges::find(values, name, [](Value value) { return plan::name_of(value); });
}

struct PlanLayoutOptions {
  std::string model;  // a config.json; empty: BERT-large
  double mean_tokens = 0;
  plan::Layout layout;
  double bucket_megabytes = 0;
  std::string clip{plan::name_of(plan::Clip::kBucketBeforeAllReduce)},
      order = "micro_batch", sharded = "none", activations = "keep", pipeline = "modular",
      reduce_dtype = "bf16";

  plan::ModelShape shape() const {
    constexpr uint64_t kMostBytes = 1 << 20;
    plan::ModelShape shape;
    if (!model.empty()) shape = plan::parse_model_shape(read_file(model, kMostBytes), model);
    if (mean_tokens > 0) shape.mean_tokens = mean_tokens;
    shape.gradient_bytes = reduce_dtype == "fp32" ? 4 : 2;
    return shape;
  }
  plan::Layout chosen() const {
    plan::Layout result = layout;
    result.clip = value_of(kClips, clip);
    result.order = value_of(kOrders, order);
    result.sharding = value_of(kShardings, sharded);
    result.bucket_bytes = bucket_megabytes * 1e6;
    result.recompute = activations == "recompute";
    result.modular = result.stages > 1 && pipeline == "modular";
    return result;
  }
};

// `options` must outlive the parsing.
inline void add_layout_options(CLI::App& command, PlanLayoutOptions& options) {
  command
      .add_option("--model", options.model,
                  "The model's config.json, as Hugging Face's BERT has it (default: BERT-large)")
      ->type_name("FILE");
  command
      .add_option("--sample-tokens", options.mean_tokens,
                  "Mean tokens of a sample (default: MLPerf's Wikipedia)")
      ->check(number_within(1, 1e6));
  command
      .add_option("--accumulation", options.layout.micro_batches,
                  "Number of micro-batches in a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  const auto add = [&](const char* name, std::string& value, std::vector<std::string> values,
                       const char* help) {
    command.add_option(name, value, help)
        ->check(CLI::IsMember(std::move(values)))
        ->capture_default_str();
  };
  add("--clip", options.clip, names_of(kClips),
      "clip.mode, which decides when gradients can be sent. Has an effect only with --network");
  add("--order", options.order, names_of(kOrders), "batch.accumulation_order");
  add("--activations", options.activations, {"keep", "recompute"},
      "batch.activations; recompute adds one forward");
  add("--sharded", options.sharded, names_of(kShardings), "optimizer.sharded");
  add("--reduce-dtype", options.reduce_dtype, {"fp32", "bf16", "fp16"},
      "reduce.dtype, in which gradients are sent. Has an effect only with --network");
  command
      .add_option("--stages", options.layout.stages,
                  "parallel.stages: number of ranks that share a model")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  add("--pipeline", options.pipeline, {"contiguous", "modular"}, "parallel.pipeline");
  command
      .add_option("--bucket-megabytes", options.bucket_megabytes,
                  "reduce.bucket_megabytes: the latency of an all-reduce counts for each bucket "
                  "(default: once per step). Has an effect only with --network")
      ->check(number_within(0.001, 1e6));
  command.add_flag(
      "--split-tied-embedding", options.layout.split_tied_embedding,
      "reduce.split_tied_embedding. Assumes that all words are equally frequent, which gives an "
      "upper bound of the rows that are sent");
}

}  // namespace strata::cli

// The settings that cannot be combined, and why. The configuration's checks, its reference page and
// the planner share this table.
#pragma once

#include <cstdint>
#include <span>

namespace strata::plan {

enum class Setting : uint8_t {
  kClosedDivision,
  kStages,        // a pipeline
  kModules,       // delayed gradients (Ouroboros)
  kAccumulation,  // several micro-batches per step
  kLayerOrder,    // all micro-batches through a layer before the next
  kRecompute,     // activations are recomputed
  kGraphs,        // captured by the device
  kFp8,
  kFp16,
  kOtherThanFp16,
  kPreNorm,     // a LayerNorm before every sublayer
  kNoPostNorm,  // pre or none
  kNoPreNorm,   // post or none
  kAnyNorm,     // pre or post
  kLayerDrop,
  kStandardization,
  kClipRank,          // before_allreduce
  kClipBucket,        // bucket_before_allreduce
  kSharded,           // optimizer state, or more
  kShardedGradients,  // gradients, or weights, too
  kShardedWeights,
  kReducedMicroBatches,  // sharded gradients, reduced after each of several micro-batches
  kSplitTiedEmbedding,   // the dense part of the word embeddings' gradient is reduced first
  kHalfLayers,           // a layer's gradients are reduced in two parts
  kBf16Sums,             // added up in bf16
  kSentOtherThanBf16,
  kSentFp16,
  kOtherThanLamb,
  kCheckpoints,
};

// If both are set, `refused` is at fault.
struct Combination {
  Setting refused;
  Setting with;
  const char* reason;
};

// The combinations in the order in which they are reported.
std::span<const Combination> impossible_combinations();

// How an `Input`, such as a configuration or a layout, expresses a setting.
template <typename Input>
struct Expression {
  Setting setting;
  const char* name;    // the key or option
  const char* remedy;  // "set device.graphs to false"
  bool (*is_set)(const Input&);
};

// Calls visit(refused, with, reason) with both expressions for every impossible combination in
// `input`. Settings without an expression count as unset.
template <typename Input, typename Visit>
void visit_impossible(std::span<const Expression<Input>> expressions, const Input& input,
                      const Visit& visit) {
  const auto find = [&](Setting setting) -> const Expression<Input>* {
    for (const Expression<Input>& each : expressions) {
      if (each.setting == setting) return each.is_set(input) ? &each : nullptr;
    }
    return nullptr;
  };
  for (const Combination& combination : impossible_combinations()) {
    const auto* refused = find(combination.refused);
    const auto* with = refused ? find(combination.with) : nullptr;
    if (with) visit(*refused, *with, combination.reason);
  }
}

}  // namespace strata::plan

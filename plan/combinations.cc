#include "plan/combinations.h"

namespace strata::plan {
namespace {

using enum Setting;

constexpr Combination kImpossible[] = {
    {kNoPostNorm, kClosedDivision, "only post is for the closed division"},
    {kPreNorm, kFp8, "pre is not built for FP8"},
    {kStandardization, kAnyNorm, "the loss replaces LayerNorm, which this model still has"},
    {kLayerDrop, kNoPreNorm, "only pre-LN passes the input of a dropped layer on"},
    {kLayerDrop, kGraphs, "every step leaves out other layers, which a graph cannot do"},
    {kSentFp16, kOtherThanFp16, "gradients in fp16 need a scaled loss"},
    {kGraphs, kFp16, "the host may skip a step in its middle, which a graph cannot do"},
    {kModules, kFp16, "gradients of a skipped step would still arrive in later steps"},
    {kClipBucket, kClosedDivision, "bucket_before_allreduce is for the open division"},
    {kOtherThanLamb, kClosedDivision, "the closed division updates with lamb"},
    {kBf16Sums, kSentOtherThanBf16, "sums in bf16 need gradients that are sent in bf16"},
    {kBf16Sums, kModules, "modules reduce nothing"},
    {kBf16Sums, kClosedDivision, "sums in bf16 are for the open division"},
    {kEarlyWords, kClipRank, "a rank's own gradient is clipped before it is reduced"},
    {kEarlyWords, kClipBucket, "a rank's own gradient is clipped before it is reduced"},
    {kEarlyWords, kStages, "early words are not built for stages"},
    {kEarlyWords, kSharded, "early words are not built for shards"},
    {kHalfLayers, kShardedGradients, "layers with sharded gradients share buffers as a whole"},
    {kLayerOrder, kClosedDivision, "layer order is for the open division"},
    {kLayerOrder, kGraphs, "reductions begin in the middle of a step, which no graph can hold"},
    {kRecompute, kFp8, "FP8 copies of activations are kept"},
    {kModules, kClosedDivision, "delayed gradients are for the open division"},
    {kModules, kAccumulation, "modules run one micro-batch a step"},
    {kModules, kLayerOrder, "modules have an order of their own"},
    {kModules, kRecompute, "a delayed backward reads activations that were kept"},
    {kModules, kStages, "modules divide the model among ranks already"},
    {kModules, kGraphs, "modules send in the middle of a step, which no graph can hold"},
    {kModules, kSharded, "no other rank shares a module"},
    {kModules, kClipBucket, "buckets hold gradients of different steps, so their norms bound none"},
    {kModules, kFp8, "FP8 scales are those of one step, but backward runs steps later"},
    {kModules, kEarlyWords, "modules reduce nothing, so nothing can be early"},
    {kModules, kHalfLayers, "modules reduce nothing, so nothing can be early"},
    {kModules, kCheckpoints, "no checkpoint holds what is in flight between steps"},
    {kStages, kClosedDivision, "a pipeline is for the open division"},
    {kStages, kLayerOrder, "a pipeline has an order of its own"},
    {kStages, kGraphs, "stages send in the middle of a step, which no graph can hold"},
    {kStages, kFp8, "a layer's first GEMM reads an FP8 copy, which stages do not send"},
    {kStages, kShardedGradients, "gradients of stages cannot be sharded"},
    {kShardedGradients, kClipRank, "gradients are reduced before a rank knows its own norm"},
    {kReducedMicroBatches, kClipBucket,
     "every micro-batch's gradients are reduced, but bucket_before_allreduce clips a step's"},
    {kShardedGradients, kGraphs, "backward waits for reductions, which no graph can hold"},
    {kShardedWeights, kFp8, "FP8 copies of weights are kept"},
};

}  // namespace

std::span<const Combination> impossible_combinations() { return kImpossible; }

}  // namespace strata::plan
